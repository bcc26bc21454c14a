/**
 * Data that the server of `logfleet ui` sends to the page, as JSON. The server decides what a state means and which commands a person can
 * run, so that the page contains no rules of its own.
 */
import type { AnyResource, KindName } from '../../api/kinds.ts';
import type { Tone } from '../render/condition-lines.ts';
import type { ResourceCommand } from './resource-commands.ts';

/** One resource in the list of the page. */
export interface ListRow {
  /** Identity of the resource, such as `cvp/logging/production`. The page's address contains it after `#`. */
  readonly id: string;
  readonly kind: KindName;
  readonly namespace: string;
  readonly name: string;
  readonly state: string;
  readonly tone: Tone;
  /** Progress in one word, such as `180/197` or `42%`. Absent if the status shows no progress. */
  readonly figure?: string;
  /** Time since which a schedule lags behind. */
  readonly lagSince?: string;
  /**
   * Lengths of the segments of a progress bar. For a policy: number of collectors in each state, in the order of `collectorStates`. For an
   * export: exported percent and remaining percent.
   */
  readonly bar?: readonly number[];
  /** Progress of the resource in one line, or the reason why it makes no progress. */
  readonly note: string;
}

/** Page of the list: some of the resources that match a filter. */
export interface ListPage {
  /** Number of all resources that match the filter. */
  readonly total: number;
  /** Index of the page's first row among all resources that match the filter, starting at 0. */
  readonly offset: number;
  readonly rows: readonly ListRow[];
  /**
   * Number of resources of each kind that match the rest of the filter (without its kind). The page shows each number beside the
   * kind in the filter.
   */
  readonly kinds: Readonly<Record<KindName, number>>;
  /**
   * Number of resources in each state that match the rest of the filter (without its state). The page shows each number beside
   * the state in the filter.
   */
  readonly tones: Readonly<Record<Tone, number>>;
}

/** Everything that the page shows about one resource. */
export interface ResourceDetail extends ListRow {
  /** Spec, status and identity of the resource, without labels and annotations. */
  readonly resource: AnyResource;
  /** Sentences about the resource: why nothing happens, or what it waits for. */
  readonly messages: readonly string[];
  readonly commands: readonly ResourceCommand[];
}

/** Message that resources have changed. The server sends at most four such messages a second. */
export interface ChangeMessage {
  /** Identities of the resources that were changed or deleted. Absent if any resource may have changed. */
  readonly changed?: readonly string[];
}

/** Message about the cluster or directory whose resources the page shows. */
export interface PlaceMessage {
  /** Name of the cluster or directory whose resources are shown, such as `context kind-dev` or `./policies`. */
  readonly place: string;
  /** Namespace of the shown resources. Absent if all namespaces are shown. */
  readonly namespace?: string;
  /** Warnings that the shown resources may be outdated, with the reason. Empty if there are none. */
  readonly warnings: readonly string[];
}

/** Data in the HTML of the page, with which the page shows its first rows without another request. */
export interface StartData {
  readonly list: ListPage;
  readonly place: PlaceMessage;
}
