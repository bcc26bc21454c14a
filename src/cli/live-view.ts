/**
 * What `logfleet run DIR`, `logfleet export` and the demo show while fleets and exports move. On a terminal a block that is drawn again
 * in place; anywhere else a line whenever a state or a count has changed, and the reason where nothing does for long. How
 * it looks is `render/resource-view.ts`.
 *
 * Invariant: drawing costs the same however many changes come: a terminal sees four drawings a second at most.
 */
import type { KindName } from '../api/kinds.ts';
import type { Clock, Timer } from '../base/clock.ts';
import type { Output } from './context.ts';
import type { LiveEvent } from './render/live-parts.ts';
import { renderLine, renderLive, renderReason } from './render/resource-view.ts';
import { Screen } from './render/screen.ts';
import { RequestPace } from './request-count.ts';
import type { AnyResource } from './resource-access.ts';
import { UpdatePace, updatedOf } from './update-pace.ts';
import { allWaysOn, type WayOptions, wayToApprove, withWholeCommands } from './way-on.ts';

export interface LiveViewOptions {
  readonly output: Output;
  readonly clock: Clock;
  /** What leads another command to a resource, for the commands that are offered to people. */
  readonly flagsOf?: (resource: AnyResource) => WayOptions;
  /** How a person lets everything go on, where something pauses it all. */
  readonly goOnForAll?: () => string | undefined;
}

const shortestRedrawMs = 250;
/** Ages and paces go on although nothing changes. */
const idleRedrawMs = 1_000;
const keptEvents = 20;
/** Where there is no terminal: so long after a line what stands still or takes long says why, then twice as long after that, and so on. */
const firstQuietMs = 10_000;
const longestQuietMs = 600_000;

interface Shown {
  resource: AnyResource;
  readonly events: LiveEvent[];
  readonly updates: UpdatePace;
  /** What the last line was about. */
  lineKey: string | undefined;
  /** The last line itself. */
  line: string;
  quiet: Timer | undefined;
}

/** Which resource something is about. */
type KeyOfShown = Pick<AnyResource['metadata'], 'namespace' | 'name'> & { readonly kind: KindName };

export class LiveView {
  readonly #output: Output;
  readonly #clock: Clock;
  readonly #flagsOf: (resource: AnyResource) => WayOptions;
  readonly #goOnForAll: () => string | undefined;
  readonly #screen: Screen | undefined;
  readonly #shown = new Map<string, Shown>();
  readonly #requests = new RequestPace();
  readonly #begunMs: number;
  #drawnMs = Number.NEGATIVE_INFINITY;
  #timer: Timer | undefined;
  #ended = false;

  constructor({ output, clock, flagsOf = () => ({}), goOnForAll = () => undefined }: LiveViewOptions) {
    this.#output = output;
    this.#clock = clock;
    this.#flagsOf = flagsOf;
    this.#goOnForAll = goOnForAll;
    this.#screen = output.isTTY ? new Screen(output) : undefined;
    this.#begunMs = clock.monotonic();
  }

  /** A resource came or changed. Without a status it is not known yet, and is worth no line. */
  show(resource: AnyResource): void {
    const key = keyOf({ kind: resource.kind, ...resource.metadata });
    const shown = this.#shown.get(key) ?? {
      resource,
      events: [],
      updates: new UpdatePace(),
      lineKey: undefined,
      line: '',
      quiet: undefined,
    };
    shown.resource = resource;
    this.#shown.set(key, shown);
    const updated = updatedOf(resource);
    if (updated !== undefined) shown.updates.add(this.#clock.monotonic(), updated);
    if (this.#screen) this.#drawSoon();
    else this.#printLine(shown);
  }

  /** A resource went. */
  gone(key: KeyOfShown): void {
    this.#shown.get(keyOf(key))?.quiet?.cancel();
    if (!this.#shown.delete(keyOf(key))) return;
    if (this.#screen) this.#drawSoon();
    else this.#output.write(`${key.namespace}/${key.name}: deleted\n`);
  }

  /** Something happened to a resource, as in its events. */
  event(key: KeyOfShown, event: Omit<LiveEvent, 'atMs'>): void {
    const shown = this.#shown.get(keyOf(key));
    if (!shown) return;
    shown.events.push({ ...event, atMs: this.#clock.now() });
    if (shown.events.length > keptEvents) shown.events.shift();
    if (this.#screen) this.#drawSoon();
  }

  /** A request to the service starts. */
  request(): void {
    this.#requests.add(this.#clock.monotonic());
  }

  /** A line for the record, such as of a log: above the block, or in its turn. */
  print(line: string): void {
    if (!this.#screen) {
      this.#output.write(`${line}\n`);
      return;
    }
    this.#screen.print(line);
    this.#draw();
  }

  /** Draws the last state and gives the terminal back. */
  end(): void {
    if (this.#ended) return;
    this.#draw();
    this.#ended = true;
    this.#timer?.cancel();
    for (const { quiet } of this.#shown.values()) quiet?.cancel();
    this.#screen?.end();
  }

  #drawSoon(): void {
    const waitMs = this.#drawnMs + shortestRedrawMs - this.#clock.monotonic();
    if (waitMs <= 0) this.#draw();
    else this.#drawAfter(waitMs);
  }

  #drawAfter(delayMs: number): void {
    this.#timer?.cancel();
    this.#timer = this.#clock.after(delayMs, () => this.#draw());
  }

  #draw(): void {
    if (!this.#screen || this.#ended || this.#shown.size === 0) return;
    this.#drawnMs = this.#clock.monotonic();
    this.#screen.draw(this.#lines());
    this.#drawAfter(idleRedrawMs);
  }

  #lines(): readonly string[] {
    const count = this.#shown.size;
    // They stand under each other with an empty line in between, and the cursor has the last line.
    const height = Math.floor((this.#output.rows() - 1 - (count - 1)) / count);
    const options = { width: this.#output.columns() - 1, height, colour: this.#output.colour };
    const requestsPerSecond = this.#requests.perSecond(this.#drawnMs);
    return [...this.#shown.values()].flatMap(({ resource, events, updates }, index) => {
      const flags = this.#flagsOf(resource);
      const moment = {
        nowMs: this.#clock.now(),
        elapsedMs: this.#drawnMs - this.#begunMs,
        updatedPerMinute: updates.perMinute(this.#drawnMs),
        requestsPerSecond,
        events,
        wayOn: allWaysOn(resource, flags, this.#goOnForAll()),
        approve: wayToApprove(resource, flags),
      };
      const lines = renderLive(withWholeCommands(resource, flags), moment, options);
      return index === 0 ? lines : ['', ...lines];
    });
  }

  #printLine(shown: Shown): void {
    const line = renderLine(shown.resource);
    if (line === undefined) return;
    if (line.key === shown.lineKey) {
      // What was at work when its line was written may wait by now, in the same words.
      if (shown.quiet === undefined) this.#tellWhy(shown, firstQuietMs);
      return;
    }
    shown.lineKey = line.key;
    this.#write(shown, line.line);
    this.#tellWhy(shown, firstQuietMs);
  }

  /** Once it has been quiet for so long. */
  #tellWhy(shown: Shown, quietMs: number): void {
    shown.quiet?.cancel();
    shown.quiet = undefined;
    if (this.#ended || this.#reasonOf(shown) === undefined) return;
    shown.quiet = this.#clock.after(quietMs, () => {
      const why = this.#reasonOf(shown);
      const isNews = shown.resource.status?.outageStartTime !== undefined || !shown.line.endsWith(why?.message ?? '');
      if (why !== undefined && isNews) this.#write(shown, `${why.name}: ${why.message}`);
      this.#tellWhy(shown, Math.min(2 * quietMs, longestQuietMs));
    });
  }

  #reasonOf({ resource }: Shown): ReturnType<typeof renderReason> {
    return renderReason(withWholeCommands(resource, this.#flagsOf(resource)));
  }

  #write(shown: Shown, line: string): void {
    shown.line = line;
    this.#output.write(`${line}\n`);
  }
}

function keyOf({ kind, namespace, name }: KeyOfShown): string {
  return `${kind}/${namespace}/${name}`;
}
