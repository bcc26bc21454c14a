/**
 * JSON data for the page of `logfleet ui`. It includes the meaning of each state, and the commands that a user can run.
 */
import type { AnyResource, KindName } from '../../api/kinds.ts';
import type { Tone } from '../render/condition-lines.ts';
import type { ResourceCommand } from './resource-commands.ts';

/** One resource in the list of the page. */
export interface ListRow {
  /** Identity of the resource in the address of the page, such as `cvp/logging/production`. */
  readonly id: string;
  readonly kind: KindName;
  readonly namespace: string;
  readonly name: string;
  readonly state: string;
  readonly tone: Tone;
  /** Progress, such as `180/197` or `42%`. Absent if there is no progress to show. */
  readonly figure?: string;
  /** Time at which a schedule fell behind. */
  readonly lagSince?: string;
  /**
   * Lengths of the sections of a progress bar. For a policy, these are the numbers of collectors in the states of
   * `collectorStates`. For an export, they are the exported and the remaining percentage.
   */
  readonly bar?: readonly number[];
  /** Progress in one line, or the reason why the resource makes no progress. */
  readonly note: string;
}

/** Page of the list of resources that match a filter. Each response from the server contains one page. */
export interface ListPage {
  /** Total number of resources that match the filter. */
  readonly total: number;
  /** Index of the first row among all matching resources, from 0. */
  readonly offset: number;
  readonly rows: readonly ListRow[];
  /** Number of resources of each kind that match the filter's state and text. The filter's kind is ignored. */
  readonly kinds: Readonly<Record<KindName, number>>;
  /** Number of resources in each state that match the filter's kind and text. The filter's state is ignored. */
  readonly tones: Readonly<Record<Tone, number>>;
}

/** Data that the page shows about one resource. */
export interface ResourceDetail extends ListRow {
  /** The resource's spec, status and identity. Labels and annotations are left out. */
  readonly resource: AnyResource;
  /** Sentences about a missing or outdated status, and about a pause in the manifest. */
  readonly messages: readonly string[];
  readonly commands: readonly ResourceCommand[];
}

/** Message to the page about changed resources, sent at most four times a second. */
export interface ChangeMessage {
  readonly changed?: readonly string[];
}

/** Message to the page about the cluster or directory whose resources it shows. */
export interface PlaceMessage {
  /** Name of the cluster or directory that the page shows, such as `context kind-dev` or `./policies`. */
  readonly place: string;
  /** Namespace whose resources are shown. If absent, the resources of all namespaces are shown. */
  readonly namespace?: string;
  /** Warnings that the shown resources may be outdated. */
  readonly warnings: readonly string[];
}

/** Data that is embedded in the HTML, so that the page shows its first rows without another request. */
export interface StartData {
  readonly list: ListPage;
  readonly place: PlaceMessage;
}
