/**
 * Output of `logfleet get --watch`. A terminal gets a block that is redrawn in place; for one resource, it is the live view. Other outputs
 * get a line for each change. `-o json` and `-o yaml` print a document for each change: JSON on one line, YAML after `---`.
 */
import type { AnyResource } from '../../api/kinds.ts';
import { type KindName, kinds } from '../../api/kinds.ts';
import type { Clock, Timer } from '../../base/clock.ts';
import { keyText } from '../../base/key-text.ts';
import type { CommandContext, Output } from '../context.ts';
import { UpdatePace } from '../live/rates.ts';
import { TroubleLines } from '../live/trouble-lines.ts';
import type { GetOptions } from '../options.ts';
import { nextSteps } from '../render/next-steps.ts';
import { cellsOf, headingsOf, renderResourceTable, renderYaml, type TableOptions } from '../render/resource-table.ts';
import { renderResource } from '../render/resource-view.ts';
import { Screen } from '../render/screen.ts';
import { columnWidths, renderRow } from '../render/table.ts';
import { printable, renderAge } from '../render/text.ts';

/** Resource kinds and the resource name that the arguments of `logfleet get` select. */
export interface GetRequest {
  readonly kinds: readonly KindName[];
  readonly name: string | undefined;
  readonly options: GetOptions;
}

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

export function createPresenter(
  request: GetRequest,
  withNamespace: boolean,
  context: CommandContext,
  clock: Clock,
): Presenter {
  const { output } = request.options;
  if (output === 'json' || output === 'yaml') return documentPresenter(output, context, clock);
  const table = { wide: output === 'wide', withNamespace };
  if (!context.stdout.isTTY) return linePresenter(table, context, clock);
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
 * Prints new, changed and deleted resources. Warnings go to stderr, so that stdout contains only resources. A resource
 * that was deleted and created again counts as changed.
 */
class ChangePresenter implements Presenter {
  readonly #stderr: Output;
  readonly #troubles: TroubleLines;
  /** Text of a resource, whose difference counts as a change. */
  readonly #textOf: (resource: AnyResource) => string;
  readonly #print: (changed: readonly AnyResource[], gone: readonly AnyResource[]) => void;
  #shown = new Map<string, { readonly resource: AnyResource; readonly text: string }>();
  #note: string | undefined;

  constructor(
    { stderr }: CommandContext,
    clock: Clock,
    textOf: (resource: AnyResource) => string,
    print: (changed: readonly AnyResource[], gone: readonly AnyResource[]) => void,
  ) {
    this.#stderr = stderr;
    this.#troubles = new TroubleLines(clock, (line) => stderr.write(line));
    this.#textOf = textOf;
    this.#print = print;
  }

  show(resources: readonly AnyResource[]): void {
    const before = this.#shown;
    const entries = resources.map((resource) => ({ resource, text: this.#textOf(resource) }));
    this.#shown = new Map(
      entries.map((entry) => [`${entry.resource.kind}/${keyText(entry.resource.metadata)}`, entry]),
    );
    const changed = [...this.#shown].filter(([id, { text }]) => before.get(id)?.text !== text);
    const gone = [...before].filter(([id]) => !this.#shown.has(id));
    const resourcesOf = (found: typeof changed) => found.map(([, { resource }]) => resource);
    this.#print(resourcesOf(changed), resourcesOf(gone));
  }

  trouble(message: string | undefined): void {
    if (message === undefined) this.#troubles.works('logfleet get');
    else this.#troubles.failed('logfleet get', message);
  }

  idle(note: string | undefined): void {
    if (note !== undefined && note !== this.#note) this.#stderr.write(`${note}\n`);
    this.#note = note;
  }

  end(): void {}
}

/** Prints one line for each new, changed or deleted resource. Column headings precede the first line. */
function linePresenter(table: TableColumns, context: CommandContext, clock: Clock): Presenter {
  let widths: readonly number[] | undefined;
  // Ages are computed for a fixed time, so that a greater age alone does not count as a change.
  const startedMs = clock.now();
  const textOf = (resource: AnyResource) => cellsOf(resource, { ...table, nowMs: startedMs }).join('\t');
  return new ChangePresenter(context, clock, textOf, (changed, gone) => {
    const options = { ...table, nowMs: clock.now() };
    const rows = changed.map((resource) => cellsOf(resource, options));
    const [first] = changed;
    if (widths === undefined && first) {
      const headings = headingsOf(first.kind, table).map((heading) => heading.toUpperCase());
      widths = columnWidths([headings, ...rows]);
      rows.unshift(headings);
    }
    for (const resource of gone) rows.push([...cellsOf(resource, options), 'deleted']);
    for (const row of rows) context.stdout.write(`${renderRow(row, widths ?? [])}\n`);
  });
}

/** Prints one document for each new or changed resource. */
function documentPresenter(format: 'json' | 'yaml', context: CommandContext, clock: Clock): Presenter {
  const render = (resource: AnyResource) =>
    format === 'json' ? `${JSON.stringify(resource)}\n` : `---\n${renderYaml(resource)}`;
  return new ChangePresenter(context, clock, JSON.stringify, (changed) => {
    for (const resource of changed) context.stdout.write(render(resource));
  });
}
