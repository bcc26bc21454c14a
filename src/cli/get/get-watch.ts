/**
 * Output of `logfleet get --watch`. A terminal gets a block that is redrawn in place; for one resource, it is the live view. Other outputs
 * get a line for each change. `-o json` and `-o yaml` print a document for each change: JSON on one line, YAML after `---`.
 */
import type { AnyResource } from '../../api/kinds.ts';
import { kinds } from '../../api/kinds.ts';
import type { Clock, Timer } from '../../base/clock.ts';
import type { CommandContext, Output } from '../context.ts';
import { UpdatePace } from '../live/rates.ts';
import { TroubleLines } from '../live/trouble-lines.ts';
import { nextSteps } from '../render/next-steps.ts';
import { cellsOf, headingsOf, renderResourceTable, renderYaml, type TableOptions } from '../render/resource-table.ts';
import { renderResource } from '../render/resource-view.ts';
import { Screen } from '../render/screen.ts';
import { columnWidths, renderRow } from '../render/table.ts';
import { printable, renderAge } from '../render/text.ts';
import type { GetRequest } from './get-request.ts';

interface Presenter {
  /** Shows all selected resources with their current status. */
  show(resources: readonly AnyResource[]): void;
  /**
   * Reports why changes of the resources cannot be followed, so that the shown resources may be outdated. Undefined
   * when changes are received again.
   */
  trouble(message: string | undefined): void;
  /**
   * Reports that no operator process works on the directory, and the command that starts one. Undefined if a process
   * works on it.
   */
  idle(note: string | undefined): void;
  /** Restores the terminal at the end of the command. */
  end(): void;
}

type TableColumns = Pick<TableOptions, 'wide' | 'withNamespace'>;

/** Writes warnings to stderr, so that stdout contains only resources for other programs. */
class StderrNotes {
  readonly #stderr: Output;
  readonly #lines: TroubleLines;
  #note: string | undefined;

  constructor({ stderr }: CommandContext, clock: Clock) {
    this.#stderr = stderr;
    this.#lines = new TroubleLines(clock, (line) => stderr.write(line));
  }

  trouble(message: string | undefined): void {
    if (message === undefined) this.#lines.works('logfleet get');
    else this.#lines.failed('logfleet get', message);
  }

  idle(note: string | undefined): void {
    if (note !== undefined && note !== this.#note) this.#stderr.write(`${note}\n`);
    this.#note = note;
  }

  end(): void {}
}

export function createPresenter(
  request: GetRequest,
  withNamespace: boolean,
  context: CommandContext,
  clock: Clock,
): Presenter {
  const { output } = request.options;
  if (output === 'json' || output === 'yaml') return new DocumentPresenter(context, output, clock);
  const table = { wide: output === 'wide', withNamespace };
  if (!context.stdout.isTTY) return new LinePresenter(context, table, clock);
  const detailed = request.name !== undefined && output === 'table';
  const pace = new UpdatePace();
  return new ScreenPresenter(context.stdout, clock, (resources, nowMs) => {
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
      steps: nextSteps(first, request.options),
    };
    return renderResource(first, moment, { width, height, colour });
  });
}

function nothingThere({ name, kinds: [kind], options }: GetRequest): string {
  if (name === undefined || kind === undefined) return 'No resources.';
  const where = options.namespace === undefined ? '' : ` in namespace ${options.namespace}`;
  return `${kinds[kind].shortNames[0]}/${name} does not exist${where}. Waiting for it.`;
}

/** Interval in ms at which the shown ages are redrawn. */
const redrawIntervalMs = 1_000;

class ScreenPresenter implements Presenter {
  readonly #screen: Screen;
  readonly #clock: Clock;
  readonly #render: (resources: readonly AnyResource[], nowMs: number) => readonly string[];
  /** Resources to show; undefined until the first list is read. */
  #resources: readonly AnyResource[] | undefined;
  #trouble: { readonly message: string; readonly sinceMs: number } | undefined;
  #idle: string | undefined;
  #timer: Timer | undefined;

  constructor(
    stdout: Output,
    clock: Clock,
    render: (resources: readonly AnyResource[], nowMs: number) => readonly string[],
  ) {
    this.#screen = new Screen(stdout);
    this.#clock = clock;
    this.#render = render;
  }

  show(resources: readonly AnyResource[]): void {
    this.#resources = resources;
    this.#draw();
  }

  trouble(message: string | undefined): void {
    const sinceMs = this.#trouble?.sinceMs ?? this.#clock.now();
    this.#trouble = message === undefined ? undefined : { message, sinceMs };
    this.#draw();
  }

  idle(note: string | undefined): void {
    if (note === this.#idle) return;
    this.#idle = note;
    this.#draw();
  }

  end(): void {
    this.#timer?.cancel();
    this.#screen.end();
  }

  #draw(): void {
    this.#timer?.cancel();
    this.#timer = this.#clock.after(redrawIntervalMs, () => this.#draw());
    if (this.#resources === undefined) return;
    const nowMs = this.#clock.now();
    const lines = this.#render(this.#resources, nowMs);
    this.#screen.draw([...this.#notes(nowMs), ...lines]);
  }

  /** Warning lines above the resources. They say why the shown resources may be outdated. */
  #notes(nowMs: number): readonly string[] {
    const { message, sinceMs = nowMs } = this.#trouble ?? {};
    const text = `Not up to date for ${renderAge(nowMs - sinceMs)}, trying again: ${message}`;
    return [...(message === undefined ? [] : [text]), ...(this.#idle === undefined ? [] : [this.#idle])].map(printable);
  }
}

/**
 * Finds resources that are new, changed or deleted since the last call. `textOf` returns the text whose difference
 * counts as a change. A resource that was deleted and created again counts as changed.
 */
class ChangeFilter {
  #shown = new Map<string, { readonly resource: AnyResource; readonly text: string }>();
  readonly #textOf: (resource: AnyResource) => string;

  constructor(textOf: (resource: AnyResource) => string) {
    this.#textOf = textOf;
  }

  next(resources: readonly AnyResource[]): {
    readonly changed: readonly AnyResource[];
    readonly gone: readonly AnyResource[];
  } {
    const before = this.#shown;
    this.#shown = new Map(
      resources.map((resource) => [identify(resource), { resource, text: this.#textOf(resource) }]),
    );
    const changed = [...this.#shown].filter(([id, { text }]) => before.get(id)?.text !== text);
    const gone = [...before].filter(([id]) => !this.#shown.has(id)).map(([, { resource }]) => resource);
    return { changed: changed.map(([, { resource }]) => resource), gone };
  }
}

function identify({ kind, metadata }: AnyResource): string {
  return `${kind}/${metadata.namespace}/${metadata.name}`;
}

/** Prints one line for each new, changed or deleted resource. Column headings precede the first line. */
class LinePresenter extends StderrNotes implements Presenter {
  readonly #stdout: Output;
  readonly #table: TableColumns;
  readonly #clock: Clock;
  readonly #changes: ChangeFilter;
  #widths: readonly number[] | undefined;

  constructor(context: CommandContext, table: TableColumns, clock: Clock) {
    super(context, clock);
    this.#stdout = context.stdout;
    this.#table = table;
    this.#clock = clock;
    // Ages are computed for a fixed time, so that a greater age alone does not count as a change.
    const nowMs = clock.now();
    this.#changes = new ChangeFilter((resource) => cellsOf(resource, { ...table, nowMs }).join('\t'));
  }

  show(resources: readonly AnyResource[]): void {
    const options = { ...this.#table, nowMs: this.#clock.now() };
    const { changed, gone } = this.#changes.next(resources);
    const rows = changed.map((resource) => cellsOf(resource, options));
    const [first] = changed;
    if (this.#widths === undefined && first) {
      const headings = headingsOf(first.kind, this.#table).map((heading) => heading.toUpperCase());
      this.#widths = columnWidths([headings, ...rows]);
      rows.unshift(headings);
    }
    for (const resource of gone) rows.push([...cellsOf(resource, options), 'deleted']);
    for (const row of rows) this.#stdout.write(`${renderRow(row, this.#widths ?? [])}\n`);
  }
}

/** Prints one document for each new or changed resource. */
class DocumentPresenter extends StderrNotes implements Presenter {
  readonly #stdout: Output;
  readonly #format: 'json' | 'yaml';
  readonly #changes = new ChangeFilter((resource) => JSON.stringify(resource));

  constructor(context: CommandContext, format: 'json' | 'yaml', clock: Clock) {
    super(context, clock);
    this.#stdout = context.stdout;
    this.#format = format;
  }

  show(resources: readonly AnyResource[]): void {
    for (const resource of this.#changes.next(resources).changed) {
      this.#stdout.write(this.#format === 'json' ? `${JSON.stringify(resource)}\n` : `---\n${renderYaml(resource)}`);
    }
  }
}
