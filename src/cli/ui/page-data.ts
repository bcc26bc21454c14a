/** JSON data for the page of `logfleet ui`. The server decides what a state means and which commands a user can run. */
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
  /** Text about the progress, such as `180/197` or `42%`. Absent if there is no progress to show. */
  readonly figure?: string;
  /** Time since which a schedule lags behind. */
  readonly lagSince?: string;
  /**
   * Lengths of the segments of a progress bar. They are numbers of collectors in the order of `collectorStates`, or the
   * exported and the remaining percentage.
   */
  readonly bar?: readonly number[];
  /** Progress in one line, or the reason why the resource makes no progress. */
  readonly note: string;
}

/** Page of the list of resources that match a filter. */
export interface ListPage {
  /** Number of all resources that match the filter. */
  readonly total: number;
  /** Index of the first row among all matching resources, from 0. */
  readonly offset: number;
  readonly rows: readonly ListRow[];
  /**
   * Number of resources of each kind. All resources that match the state and the text of the filter count, whatever
   * kind the filter selects.
   */
  readonly kinds: Readonly<Record<KindName, number>>;
  /**
   * Number of resources in each state. All resources that match the kind and the text of the filter count, whatever
   * state the filter selects.
   */
  readonly tones: Readonly<Record<Tone, number>>;
}

/** Everything that the page shows about one resource. */
export interface ResourceDetail extends ListRow {
  /** The resource's spec, status and identity. Labels and annotations are left out. */
  readonly resource: AnyResource;
  /** Sentences that say why nothing happens to the resource, or what the resource waits for. */
  readonly messages: readonly string[];
  readonly commands: readonly ResourceCommand[];
}

/** Message that resources have changed, sent at most four times a second. */
export interface ChangeMessage {
  readonly changed?: readonly string[];
}

/** Message about the shown cluster or directory. */
export interface PlaceMessage {
  /** Name of the cluster or directory, such as `context kind-dev` or `./policies`. */
  readonly place: string;
  /** Namespace of the shown resources. If absent, resources of all namespaces are shown. */
  readonly namespace?: string;
  /** Messages which warn that the shown resources may be outdated. */
  readonly warnings: readonly string[];
}

/** Data that the HTML contains, so that the page can show its first rows without another request. */
export interface StartData {
  readonly list: ListPage;
  readonly place: PlaceMessage;
}
