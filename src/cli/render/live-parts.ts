/**
 * Renders the parts that the live views of all kinds share: headline, the reason why nothing happens, blocks of lines,
 * and Events.
 */
import type { EventType } from '../../host/host.ts';
import { conditionOf, holds, type WithConditions } from './condition-lines.ts';
import { type NextSteps, renderNextStep } from './next-steps.ts';
import { type Colour, clip, clipColoured, type Paint, paintWith, printable, renderAge, widthOf, wrap } from './text.ts';

/** Event of a resource, shown in its live view. */
export interface LiveEvent {
  readonly atMs: number;
  readonly type: EventType;
  readonly reason: string;
  readonly message: string;
}

export interface LiveViewOptions {
  /** Maximum number of columns of the view. */
  readonly width: number;
  /** Maximum number of lines of the view. Details are left out to stay within this number, where possible. */
  readonly height?: number;
  readonly colour: boolean;
}

/** Data of a live view that does not come from the resource itself. */
export interface LiveMoment {
  readonly nowMs: number;
  /** Time since the start of the run, in ms. Undefined for `get --watch`. */
  readonly elapsedMs?: number | undefined;
  /**
   * For policies: number of collectors that reached the target version in the last minute. Undefined until the first
   * measurement.
   */
  readonly updatedPerMinute?: number | undefined;
  /** Requests to the log service per second, over the last whole seconds. Undefined until the first request. */
  readonly requestsPerSecond?: number | undefined;
  /** Events of the resource, oldest first. */
  readonly events: readonly LiveEvent[];
  readonly steps?: NextSteps;
}

/** Data for the live view of one resource. */
export interface LiveInput<Status> extends LiveMoment {
  /** Name of the resource, as `namespace/name`. */
  readonly name: string;
  readonly status: Status | undefined;
  /** Sentence that the status describes an older generation of the spec. Undefined if the status is current. */
  readonly behind?: string | undefined;
}

/** Parts of a live view whose content depends on the kind of resource. */
interface LiveParts {
  readonly headline: Headline;
  /** Lines with figures, below the headline. */
  readonly figures: readonly string[];
  /** Reason why the resource waits, although logfleet is working on it. Undefined if it does not wait. */
  readonly wait: string | undefined;
  readonly blocks: readonly (readonly [title: string, lines: readonly string[]])[];
}

/**
 * Lines of a live view. `details` are levels of detail, from a large window to a small one. The first level that fits
 * the height is used, or else the last.
 */
export function renderLiveView<D extends { readonly events: number }>(
  { behind, status, steps, events }: LiveInput<WithConditions>,
  { width, height = Number.POSITIVE_INFINITY, colour }: LiveViewOptions,
  details: readonly D[],
  partsOf: (detail: D, paint: Paint) => LiveParts,
): readonly string[] {
  const paint = paintWith(colour);
  const yellow = (text = '') => (text === '' ? [] : wrap(printable(text), width).map((line) => paint('yellow', line)));
  let lines: readonly string[] = [];
  for (const detail of details) {
    const parts = partsOf(detail, paint);
    lines = [
      headline(parts.headline, width, paint),
      ...yellow(behind),
      ...parts.figures,
      ...renderStall(status, steps, width, paint),
      ...yellow(parts.wait),
      ...parts.blocks.flatMap(([title, inner]) => block(title, inner, paint)),
      ...block('Latest', eventLines(events, detail.events, width - 2, paint), paint),
    ];
    if (lines.length <= height) break;
  }
  return lines.map((line) => clipColoured(line, width));
}

interface Headline {
  /** Name of the resource, as `namespace/name`. */
  readonly name: string;
  /** Text directly after the name of the resource. */
  readonly detail?: string;
  /** State of the resource in one word. Undefined without status. */
  readonly state: string | undefined;
  readonly colour: Colour;
  /** Text at the right end of the headline. */
  readonly figure: string | undefined;
  readonly elapsedMs: number | undefined;
}

function headline(parts: Headline, width: number, paint: Paint): string {
  const { name, detail = '', state = 'starting', colour, figure, elapsedMs } = parts;
  const left = `${paint('bold', printable(name))}${printable(detail)}   ${paint(colour, printable(state))}`;
  const right = [figure, elapsedMs === undefined ? undefined : renderAge(elapsedMs)]
    .filter((part) => part !== undefined)
    .join('   ');
  return left + ' '.repeat(Math.max(3, width - widthOf(left) - widthOf(right))) + right;
}

/**
 * Explains why nothing happens on the resource, and how to end a pause or a stop. Empty while the resource is ready or
 * logfleet is working on it.
 */
function renderStall(
  status: WithConditions | undefined,
  { approve: _, ...steps }: NextSteps | undefined = {},
  width: number,
  paint: Paint,
): readonly string[] {
  const cause = conditionOf(status, 'Stalled') ?? conditionOf(status, 'Ready');
  if (!cause || holds(status, 'Ready') || holds(status, 'Reconciling')) return [];
  const colour = cause.type === 'Stalled' ? 'red' : 'yellow';
  return wrap(printable(cause.message + renderNextStep(steps)), width).map((line) => paint(colour, line));
}

/**
 * Remaining time of a rollout or export, such as `done in about 5m`. Undefined without an estimate, or if the estimated
 * time has passed.
 */
export function renderEnd(estimatedEnd: string | undefined, nowMs: number): string | undefined {
  const leftMs = estimatedEnd === undefined ? 0 : Date.parse(estimatedEnd) - nowMs;
  return leftMs < 1_000 ? undefined : `done in about ${renderAge(leftMs)}`;
}

function block(title: string, lines: readonly string[], paint: Paint): readonly string[] {
  return lines.length === 0 ? [] : [paint('dim', title), ...lines.map((line) => `  ${line}`)];
}

const timeWidth = 10;
const maxEventLines = 2;

/** Lines for the newest `most` Events, oldest first. */
function eventLines(all: readonly LiveEvent[], most: number, width: number, paint: Paint): readonly string[] {
  return all.slice(Math.max(0, all.length - most)).flatMap(({ atMs, type, reason: name, message }) => {
    const at = new Date(atMs).toISOString().slice(11, 19);
    const [head, text] = [printable(name), printable(message)];
    const room = Math.max(20, width - timeWidth);
    const [first = '', ...rest] = wrap(`${head}  ${text}`, room);
    const colour = type === 'Warning' ? 'yellow' : 'bold';
    const lines = [`${at}  ${paint(colour, head)}${first.slice(head.length)}`];
    if (rest.length > 0) lines.push(' '.repeat(timeWidth) + clip(rest.join(' '), (maxEventLines - 1) * room));
    return lines;
  });
}
