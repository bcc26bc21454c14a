/**
 * What `logfleet run DIR` and the demo show while a fleet moves. On a terminal a block that is drawn again in place; anywhere
 * else a line whenever a state or a count has changed. How it looks is `render/fleet-view.ts`.
 *
 * Invariant: drawing costs the same however many changes come: a terminal sees four drawings a second at most.
 */
import type { CollectorVersionPolicy } from '../api/kinds.ts';
import type { Clock, Timer } from '../base/clock.ts';
import type { Output } from './context.ts';
import type { TargetOptions } from './options.ts';
import { type FleetEvent, renderFleet, renderSummaryLine } from './render/fleet-view.ts';
import { Screen } from './render/screen.ts';
import { RequestPace } from './request-count.ts';
import { UpdatePace } from './update-pace.ts';
import { allWaysOn, wayToApprove } from './way-on.ts';

export interface LiveViewOptions {
  readonly output: Output;
  readonly clock: Clock;
  /** What leads another command to a policy, for the commands that are offered to people. */
  readonly flagsOf?: (policy: CollectorVersionPolicy) => TargetOptions;
  /** How a person lets all policies go on, where something pauses them all. */
  readonly goOnForAll?: () => string | undefined;
}

const shortestRedrawMs = 250;
/** Ages and paces go on although nothing changes. */
const idleRedrawMs = 1_000;
const keptEvents = 20;

interface Shown {
  policy: CollectorVersionPolicy;
  readonly events: FleetEvent[];
  readonly updates: UpdatePace;
  line: string | undefined;
}

export class LiveView {
  readonly #output: Output;
  readonly #clock: Clock;
  readonly #flagsOf: (policy: CollectorVersionPolicy) => TargetOptions;
  readonly #goOnForAll: () => string | undefined;
  readonly #screen: Screen | undefined;
  readonly #fleets = new Map<string, Shown>();
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

  /** A policy came or changed. Without a status it is not known yet, and is worth no line. */
  policy(policy: CollectorVersionPolicy): void {
    const key = keyOf(policy.metadata);
    const shown = this.#fleets.get(key) ?? {
      policy,
      events: [],
      updates: new UpdatePace(),
      line: undefined,
    };
    shown.policy = policy;
    this.#fleets.set(key, shown);
    const updated = policy.status?.collectors?.updated;
    if (updated !== undefined) shown.updates.add(this.#clock.monotonic(), updated);
    if (this.#screen) this.#drawSoon();
    else this.#printLine(key, shown);
  }

  /** A policy went. */
  gone(key: { readonly namespace: string; readonly name: string }): void {
    if (!this.#fleets.delete(keyOf(key))) return;
    if (this.#screen) this.#drawSoon();
    else this.#output.write(`${keyOf(key)}: deleted\n`);
  }

  /** Something happened to a policy, as in its events. */
  event(key: { readonly namespace: string; readonly name: string }, event: Omit<FleetEvent, 'atMs'>): void {
    const shown = this.#fleets.get(keyOf(key));
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
    if (!this.#screen || this.#ended || this.#fleets.size === 0) return;
    this.#drawnMs = this.#clock.monotonic();
    this.#screen.draw(this.#lines());
    this.#drawAfter(idleRedrawMs);
  }

  #lines(): readonly string[] {
    const count = this.#fleets.size;
    // Fleets stand under each other with an empty line in between, and the cursor has the last line.
    const height = Math.floor((this.#output.rows() - 1 - (count - 1)) / count);
    const options = { width: this.#output.columns() - 1, height, colour: this.#output.colour };
    const requestsPerSecond = this.#requests.perSecond(this.#drawnMs);
    return [...this.#fleets].flatMap(([name, { policy, events, updates }], index) => {
      const updatedPerMinute = updates.perMinute(this.#drawnMs);
      const flags = this.#flagsOf(policy);
      const lines = renderFleet(
        {
          name,
          status: policy.status,
          nowMs: this.#clock.now(),
          elapsedMs: this.#drawnMs - this.#begunMs,
          events,
          wayOn: allWaysOn(policy, flags, this.#goOnForAll()),
          approve: wayToApprove(policy, flags),
          ...(updatedPerMinute === undefined ? {} : { updatedPerMinute }),
          ...(requestsPerSecond === undefined ? {} : { requestsPerSecond }),
        },
        options,
      );
      return index === 0 ? lines : ['', ...lines];
    });
  }

  #printLine(name: string, shown: Shown): void {
    const { status } = shown.policy;
    if (status === undefined) return;
    const line = renderSummaryLine(name, status);
    if (line === shown.line) return;
    shown.line = line;
    this.#output.write(`${line}\n`);
  }
}

function keyOf({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return `${namespace}/${name}`;
}
