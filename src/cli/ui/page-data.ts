/**
 * JSON data for the page of `logfleet ui`. The server computes the meaning of each state, and the commands that a user
 * can run.
 */
import type { AnyResource, KindName } from '../../api/kinds.ts';
import type { Tone } from '../render/condition-lines.ts';
import type { ResourceCommand } from './resource-commands.ts';

/** One resource in the list of the page. */
export interface ListRow {
  /** Identity of the resource in the page's address, such as `cvp/logging/production`. */
  readonly id: string;
  readonly kind: KindName;
  readonly namespace: string;
  readonly name: string;
  readonly state: string;
  readonly tone: Tone;
  /** Progress, such as `180/197` or `42%`. Absent if there is no progress to show. */
  readonly figure?: string;
  /** Time since which a schedule lags behind. */
  readonly lagSince?: string;
  /**
   * Lengths of the segments of a progress bar. For a policy, they are the numbers of collectors in each state of
   * `collectorStates`. For an export, they are the exported and the remaining percentage.
   */
  readonly bar?: readonly number[];
  /** Progress in one line, or the reason why the resource makes no progress. */
  readonly note: string;
}

/** Section of the resource list, as one response of the server. The list contains the resources that match a filter. */
export interface ListPage {
  /** Number of all resources that match the filter. */
  readonly total: number;
  /** Index of the first row among all matching resources, from 0. */
  readonly offset: number;
  readonly rows: readonly ListRow[];
  /** Number of resources of each kind. The filter's state and text apply to these numbers, but its kind does not. */
  readonly kinds: Readonly<Record<KindName, number>>;
  /** Number of resources in each state. The filter's kind and text apply to these numbers, but its state does not. */
  readonly tones: Readonly<Record<Tone, number>>;
}

/** Data that the page shows about one resource. */
export interface ResourceDetail extends ListRow {
  /** The resource's spec, status and identity. Labels and annotations are left out. */
  readonly resource: AnyResource;
  /** Sentences that say why the resource makes no progress, or what it waits for. */
  readonly messages: readonly string[];
  readonly commands: readonly ResourceCommand[];
}

/** Message that resources have changed, sent at most four times a second. */
export interface ChangeMessage {
  readonly changed?: readonly string[];
}

/** Message about the shown cluster or directory. */
export interface PlaceMessage {
  /** Name of the shown cluster or directory, such as `context kind-dev` or `./policies`. */
  readonly place: string;
  /** Namespace whose resources are shown. If absent, the resources of all namespaces are shown. */
  readonly namespace?: string;
  /** Warnings that the shown resources may be outdated. */
  readonly warnings: readonly string[];
}

/** Data that the HTML contains, so that the page can show its first rows without another request. */
export interface StartData {
  readonly list: ListPage;
  readonly place: PlaceMessage;
}
