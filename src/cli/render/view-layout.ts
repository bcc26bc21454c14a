/**
 * Arranges the view of one resource. The view shows a headline, the progress, what the resource is waiting for, and
 * details.
 */
import type { AnyResource } from '../../api/kinds.ts';
import { keyText } from '../../base/key-text.ts';
import { timeOfDay } from '../../base/time-text.ts';
import type { ResourceEvent } from '../../host/host.ts';
import { conditionOf, holds, renderBehind, renderConditions, type Tone, toneOf } from './condition-lines.ts';
import { type NextSteps, renderMessage } from './next-steps.ts';
import { type Colour, type Paint, paintWith } from './paint.ts';
import { clip, widthOf, wrap, wrapIndented } from './terminal-text.ts';
import { printable, renderAge } from './text.ts';

export interface LiveEvent extends Pick<ResourceEvent, 'type' | 'reason' | 'message'> {
  readonly atMs: number;
}

export interface ViewOptions {
  readonly width: number;
  /** Maximum number of lines to render. If undefined, the number of lines is not limited. */
  readonly height?: number | undefined;
  readonly colour: boolean;
}

/** Data that the view of a resource shows in addition to the resource itself. */
export interface Moment {
  readonly nowMs: number;
  /** Time in ms since the command started. Undefined for `logfleet get`, which shows no elapsed time. */
  readonly elapsedMs?: number | undefined;
  /** Number of collectors that reached the target version in the last minute. Undefined until the first measurement. */
  readonly updatedPerMinute?: number | undefined;
  /** Number of requests to the log service per second. Undefined until the first request. */
  readonly requestsPerSecond?: number | undefined;
  /** Events of the resource, oldest first. */
  readonly events?: readonly LiveEvent[];
  readonly steps?: NextSteps;
}

export interface KindView<R extends AnyResource> {
  /** Renders the state, the progress and the details of a resource. */
  render(resource: R, moment: Moment, options: ViewOptions): readonly string[];
  /** Returns the progress in one line, or an empty string if there is no progress to show. */
  figuresOf(status: ShownStatus<R>): string;
  /**
   * Returns a summary of the progress. If the output is not a terminal, a new line is printed only when the summary
   * changes.
   */
  keyOf?(status: ShownStatus<R>): string;
  /** Returns the reason why a resource is waiting, or undefined while it is making progress. */
  waitOf(status: ShownStatus<R>): string | undefined;
  /** Returns the reason why an unfinished resource makes no progress. Returns undefined if no reason is known. */
  reasonOf(status: ShownStatus<R>): string | undefined;
  /** Describes running work that a pause does not stop, such as `6 upgrades in flight run to completion`. */
  inFlight(status: ShownStatus<R>): string | undefined;
}

type ShownStatus<R extends AnyResource> = NonNullable<R['status']>;

type Block = readonly [title: string, lines: readonly string[]];

interface Parts {
  readonly detail?: string;
  /** Text at the right end of the resource's headline. */
  readonly figure: string | undefined;
  /** Lines about the progress, after the headline. */
  readonly figures: readonly string[];
  /** Reason why the resource is waiting. Undefined if it is not waiting, or if it is waiting for a user. */
  readonly wait: string | undefined;
  readonly blocks: readonly Block[];
  /** Blocks to show in a view of unlimited height. */
  readonly further: readonly Block[];
}

/** Colour of a resource's state. */
const toneColours: Readonly<Record<Tone, Colour>> = {
  stalled: 'red',
  waiting: 'yellow',
  working: 'cyan',
  ready: 'green',
};

export const noOperator = 'No operator has read this resource yet. Check that an operator is running.';

interface DetailLevels<D> {
  readonly all: D;
  /** Levels of detail, most detailed first. The view uses the first level that fits in the window. */
  readonly fitting: readonly D[];
}

/** Renders a view with the first level of detail that fits in the window. */
export function renderView<D extends { readonly events: number }>(
  resource: AnyResource,
  { nowMs, elapsedMs, events = [], steps = {} }: Moment,
  { width, height, colour }: ViewOptions,
  { all, fitting }: DetailLevels<D>,
  partsOf: (detail: D, paint: Paint) => Parts,
): readonly string[] {
  const { status, metadata } = resource;
  const paint = paintWith(colour);
  const state = status?.summary?.state ?? (elapsedMs === undefined ? 'Unknown' : 'starting');
  const yellow = (text?: string) => (text ? wrap(printable(text), width).map((line) => paint('yellow', line)) : []);
  let lines: readonly string[] = [];
  for (const level of height === undefined ? [all] : fitting) {
    const parts = partsOf(level, paint);
    const name = paint('bold', keyText(metadata)) + printable(parts.detail ?? '');
    const left = `${name}   ${paint(toneColours[toneOf(resource)], printable(state))}`;
    const elapsed = elapsedMs === undefined ? undefined : renderAge(elapsedMs);
    const right = [parts.figure, elapsed].filter((part) => part !== undefined).join('   ');
    const gap = height === undefined ? 3 : Math.max(3, width - widthOf(left) - widthOf(right));
    const further: readonly Block[] = [['Conditions', renderConditions(status ?? {}, nowMs)], ...parts.further];
    const latest: Block = ['Latest', eventLines(events, level.events, width - 2, paint)];
    lines = [
      (left + ' '.repeat(gap) + right).trimEnd(),
      ...yellow(renderBehind(resource)),
      ...yellow(status || elapsedMs !== undefined ? undefined : noOperator),
      ...parts.figures,
      ...renderStall(resource, steps, width, paint),
      ...yellow(parts.wait),
      ...[...parts.blocks, ...(height === undefined ? further : []), latest].flatMap(([title, inner]) =>
        inner.length === 0 ? [] : [paint('dim', title), ...inner.map((line) => `  ${line}`)],
      ),
    ];
    if (height === undefined || lines.length <= height) break;
  }
  return lines.flatMap((line) => (height === undefined ? wrapIndented(line, width) : [clip(line, width)]));
}

/**
 * Returns lines that explain why a resource makes no progress and how to resume it. Returns no lines if the resource is
 * making progress.
 */
function renderStall(
  resource: AnyResource,
  { approve: _, ...steps }: NextSteps,
  width: number,
  paint: Paint,
): readonly string[] {
  const { status } = resource;
  const cause = conditionOf(status, 'Stalled') ?? conditionOf(status, 'Ready');
  const isShown = cause && !holds(status, 'Ready') && !holds(status, 'Reconciling');
  const text = renderMessage(resource, isShown ? cause.message : '', steps).trim();
  const colour = cause?.type === 'Stalled' ? 'red' : 'yellow';
  return text === '' ? [] : wrap(printable(text), width).map((line) => paint(colour, line));
}

const timeWidth = 11;

/** Renders the newest Events in chronological order, each in at most two lines. */
function eventLines(all: readonly LiveEvent[], max: number, width: number, paint: Paint): readonly string[] {
  return all.slice(Math.max(0, all.length - max)).flatMap(({ atMs, type, reason: name, message }) => {
    const at = timeOfDay(atMs);
    const [head, text] = [printable(name), printable(message)];
    const columns = Math.max(20, width - timeWidth);
    const [first = '', ...rest] = wrap(`${head}  ${text}`, columns);
    const reason = paint(type === 'Warning' ? 'yellow' : 'bold', head);
    const lines = [`${at}  ${reason}${first.slice(head.length)}`];
    if (rest.length > 0) lines.push(' '.repeat(timeWidth) + clip(rest.join(' '), columns));
    return lines;
  });
}
