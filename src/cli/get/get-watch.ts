/**
 * Output of `logfleet get --watch`. On a terminal, the output is redrawn in place. Otherwise, a line or document is
 * printed for each change.
 */
import { type AnyResource, type KindName, kindNames, referenceOf } from '../../api/kinds.ts';
import type { Clock, Timer } from '../../base/clock.ts';
import { identify } from '../../base/key-text.ts';
import { TroubleLines } from '../../base/trouble-lines.ts';
import type { CommandContext, Output } from '../command/context.ts';
import type { GetOptions } from '../command/options.ts';
import { UpdatePace } from '../live/rates.ts';
import { nextSteps } from '../render/next-steps.ts';
import { cellsOf, headingsOf, renderResourceTable, renderYaml, type TableOptions } from '../render/resource-table.ts';
import { viewOf } from '../render/resource-view.ts';
import { Screen } from '../render/screen.ts';
import { columnWidths, renderRow } from '../render/table.ts';
import { printable, renderAge } from '../render/text.ts';
import type { ResourceReader } from '../resources/resource-reader.ts';

/** Arguments of one invocation of `logfleet get`: the resources to show, the reader, and the output. */
export interface GetRequest {
  readonly kinds: readonly KindName[];
  readonly name: string | undefined;
  /** Namespace of the resources to show. Undefined to show the resources in all namespaces. */
  readonly namespace: string | undefined;
  readonly options: GetOptions;
  readonly reader: ResourceReader;
  readonly context: CommandContext;
  readonly clock: Clock;
}

interface Presenter {
  show(resources: readonly AnyResource[]): void;
  /** Shows a warning that changes cannot be read. If `message` is undefined, removes the warning. */
  trouble(message: string | undefined): void;
  idle(note: string | undefined): void;
  end(): void;
}

type TableColumns = Pick<TableOptions, 'wide' | 'withNamespace' | 'withKind'>;

export function createPresenter(request: GetRequest): Presenter {
  const { options, context, clock } = request;
  const { output } = options;
  if (output === 'json' || output === 'yaml') return documentPresenter(output, context, clock);
  const table = { wide: output === 'wide', withNamespace: request.namespace === undefined };
  if (!context.stdout.isTTY) return linePresenter({ ...table, withKind: request.kinds.length > 1 }, context, clock);
  const detailed = request.name !== undefined && output === 'table';
  const pace = new UpdatePace();
  return screenPresenter(context.stdout, clock, (resources, nowMs) => {
    const [first] = resources;
    if (!first) return [nothingThere(request)];
    const width = context.stdout.columns() - 1;
    if (!detailed) return renderResourceTable(resources, { ...table, nowMs, width });
    const { colour } = context.stdout;
    const height = context.stdout.rows() - 1;
    pace.add(clock.monotonic(), first);
    const moment = {
      nowMs,
      updatedPerMinute: pace.perMinute(clock.monotonic()),
      steps: nextSteps(first, options),
    };
    return viewOf(first).render(first, moment, { width, height, colour });
  });
}

function nothingThere({ name, kinds: [kind], options }: GetRequest): string {
  if (name === undefined || kind === undefined) return 'No resources.';
  const inNamespace = options.namespace === undefined ? '' : ` in namespace ${options.namespace}`;
  const reference = referenceOf(kind, { name });
  return `${reference} does not exist${inNamespace}. Waiting until it is created.`;
}

/** Interval in ms at which displayed ages are updated. */
const redrawIntervalMs = 1_000;

/** Output for a terminal: redraws resources in place, with warnings above them. */
function screenPresenter(
  stdout: Output,
  clock: Clock,
  render: (resources: readonly AnyResource[], nowMs: number) => readonly string[],
): Presenter {
  const screen = new Screen(stdout);
  // Resources that the screen shows. Undefined until the first list is read.
  let resources: readonly AnyResource[] | undefined;
  let trouble: { readonly message: string; readonly sinceMs: number } | undefined;
  let idleNote: string | undefined;
  let timer: Timer | undefined;
  const draw = () => {
    timer?.cancel();
    timer = clock.after(redrawIntervalMs, draw);
    if (resources === undefined) return;
    const nowMs = clock.now();
    const outdated =
      trouble &&
      `This view may be up to ${renderAge(nowMs - trouble.sinceMs)} out of date. Trying again: ${trouble.message}`;
    const notes = [outdated, idleNote].filter((note) => note !== undefined).map(printable);
    screen.draw([...notes, ...render(resources, nowMs)]);
  };
  return {
    show: (shown) => {
      resources = shown;
      draw();
    },
    trouble: (message) => {
      if (message === trouble?.message) return;
      trouble = message === undefined ? undefined : { message, sinceMs: trouble?.sinceMs ?? clock.now() };
      draw();
    },
    idle: (note) => {
      if (note === idleNote) return;
      idleNote = note;
      draw();
    },
    end: () => {
      timer?.cancel();
      screen.end();
    },
  };
}

/** Output for a stream that is not a terminal: prints new, changed and deleted resources. Warnings go to stderr. */
function changePresenter(
  { stderr }: CommandContext,
  clock: Clock,
  textOf: (resource: AnyResource) => string,
  print: (changed: readonly AnyResource[], gone: readonly AnyResource[]) => void,
): Presenter {
  const troubles = new TroubleLines(clock, (line) => stderr.write(`${printable(line)}\n`));
  let before = new Map<string, { readonly resource: AnyResource; readonly text: string }>();
  let idleNote: string | undefined;
  return {
    show: (resources) => {
      const entries = resources.map((resource) => ({ resource, text: textOf(resource) }));
      const now = new Map(entries.map((entry) => [identify(entry.resource.kind, entry.resource.metadata), entry]));
      const changed = [...now].filter(([id, { text }]) => before.get(id)?.text !== text);
      const gone = [...before].filter(([id]) => !now.has(id));
      before = now;
      const resourcesOf = (found: typeof changed) => found.map(([, { resource }]) => resource);
      print(resourcesOf(changed), resourcesOf(gone));
    },
    trouble: (message) => {
      if (message === undefined) troubles.works('logfleet get');
      else troubles.failed('logfleet get', message);
    },
    idle: (note) => {
      if (note !== undefined && note !== idleNote) stderr.write(`${note}\n`);
      idleNote = note;
    },
    end: () => {},
  };
}

/** Prints each changed resource as a row. The rows of each kind line up below the headings of this kind. */
function linePresenter(table: TableColumns, context: CommandContext, clock: Clock): Presenter {
  const widths = new Map<KindName, readonly number[]>();
  // A row is printed when its text changes. Ages are computed as of the start of the command, so that a growing age
  // does not count as a change.
  const startedMs = clock.now();
  const textOf = (resource: AnyResource) => cellsOf(resource, { ...table, nowMs: startedMs }).join('\t');
  return changePresenter(context, clock, textOf, (changed, gone) => {
    const options = { ...table, nowMs: clock.now() };
    for (const kind of kindNames) {
      const rowsOf = (resources: readonly AnyResource[]) =>
        resources.filter((resource) => resource.kind === kind).map((resource) => cellsOf(resource, options));
      const rows = rowsOf(changed);
      if (rows.length > 0 && !widths.has(kind)) {
        const headings = headingsOf(kind, table).map((heading) => heading.toUpperCase());
        widths.set(kind, columnWidths([headings, ...rows]));
        rows.unshift(headings);
      }
      for (const cells of rowsOf(gone)) rows.push([...cells, 'deleted']);
      for (const row of rows) context.stdout.write(`${renderRow(row, widths.get(kind) ?? [])}\n`);
    }
  });
}

function documentPresenter(format: 'json' | 'yaml', context: CommandContext, clock: Clock): Presenter {
  const render = (resource: AnyResource) =>
    format === 'json' ? `${JSON.stringify(resource)}\n` : `---\n${renderYaml(resource)}`;
  return changePresenter(context, clock, JSON.stringify, (changed) => {
    for (const resource of changed) context.stdout.write(render(resource));
  });
}
