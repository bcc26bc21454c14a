/**
 * Live view of policies and exports. On a terminal, the view is redrawn in place, at most four times a second.
 * Otherwise, a line is printed for each change. If a resource does not change for a long time, a line explains why.
 */
import type { AnyResource, KindName } from '../../api/kinds.ts';
import type { Clock, Timer } from '../../base/clock.ts';
import { identify, keyText } from '../../base/key-text.ts';
import type { Output } from '../command/context.ts';
import { type NextSteps, nextSteps, renderMessage, type StepOptions } from '../render/next-steps.ts';
import { renderLine, renderReason, viewOf } from '../render/resource-view.ts';
import { Screen } from '../render/screen.ts';
import type { LiveEvent } from '../render/view-layout.ts';
import { RequestRateMeter, UpdatePace } from './rates.ts';

export interface LiveViewOptions {
  readonly output: Output;
  readonly clock: Clock;
  /** Returns the flags with which another logfleet command selects the resource, such as `-n logging`. */
  readonly flagsOf?: ((resource: AnyResource) => StepOptions) | undefined;
  /**
   * Returns the text that tells the user how to resume a paused operator. Returns undefined if the operator is not
   * paused.
   */
  readonly resumeAll?: (() => string | undefined) | undefined;
}

const shortestRedrawMs = 250;
/** Interval in ms at which displayed ages and rates are updated. */
const idleRedrawMs = 1_000;
const maxEvents = 20;
/**
 * Time in ms after which the view prints why a resource makes no progress, unless a new line about the resource is
 * printed first. Each further delay is twice as long.
 */
const firstQuietMs = 10_000;
const longestQuietMs = 600_000;

interface Shown {
  resource: AnyResource;
  readonly events: LiveEvent[];
  readonly updates: UpdatePace;
  /** State and numbers of the resource in the last printed line. A new line is printed only when they change. */
  lineKey: string | undefined;
  /** Reason for waiting that was printed most recently. */
  message: string | undefined;
  reminder: Timer | undefined;
}

/** Fields that identify a resource in the live view. */
type KeyOfShown = Pick<AnyResource['metadata'], 'namespace' | 'name'> & { readonly kind: KindName };

export class LiveView {
  readonly #options: LiveViewOptions;
  readonly #output: Output;
  readonly #clock: Clock;
  readonly #screen: Screen | undefined;
  readonly #shown = new Map<string, Shown>();
  readonly #requests = new RequestRateMeter();
  readonly #begunMs: number;
  #drawnMs = Number.NEGATIVE_INFINITY;
  #timer: Timer | undefined;
  #ended = false;

  constructor(options: LiveViewOptions) {
    const { output, clock } = options;
    this.#options = options;
    this.#output = output;
    this.#clock = clock;
    this.#screen = output.isTTY ? new Screen(output) : undefined;
    this.#begunMs = clock.monotonic();
  }

  /**
   * Shows a new or changed resource. If the output is not a terminal, nothing is printed until the resource has a
   * status.
   */
  show(resource: AnyResource): void {
    const key = identify(resource.kind, resource.metadata);
    const shown = this.#shown.get(key) ?? {
      resource,
      events: [],
      updates: new UpdatePace(),
      lineKey: undefined,
      message: undefined,
      reminder: undefined,
    };
    shown.resource = resource;
    this.#shown.set(key, shown);
    shown.updates.add(this.#clock.monotonic(), resource);
    if (this.#screen) this.#drawSoon();
    else this.#printLine(shown);
  }

  gone(key: KeyOfShown): void {
    this.#shown.get(identify(key.kind, key))?.reminder?.cancel();
    if (!this.#shown.delete(identify(key.kind, key))) return;
    if (this.#screen) this.#drawSoon();
    else this.#output.write(`${keyText(key)}: deleted\n`);
  }

  event(key: KeyOfShown, event: Omit<LiveEvent, 'atMs'>): void {
    const shown = this.#shown.get(identify(key.kind, key));
    if (!shown) return;
    shown.events.push({ ...event, atMs: this.#clock.now() });
    if (shown.events.length > maxEvents) shown.events.shift();
    if (this.#screen) this.#drawSoon();
  }

  /** Records a request to the log service, for the displayed request rate. */
  request(): void {
    this.#requests.add(this.#clock.monotonic());
  }

  /** Prints a line. On a terminal, it appears above the live view. */
  print(text: string): void {
    const line = text.trimEnd();
    if (this.#screen) {
      this.#screen.print(line);
      this.#draw();
    } else this.#write(line);
  }

  /** Draws the final state, and restores the terminal. */
  end(): void {
    if (this.#ended) return;
    this.#draw();
    this.#ended = true;
    this.#timer?.cancel();
    for (const { reminder } of this.#shown.values()) reminder?.cancel();
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
    // Empty lines separate the resources. The last line is left free for the cursor.
    const height = Math.floor((this.#output.rows() - 1 - (count - 1)) / count);
    const options = { width: this.#output.columns() - 1, height, colour: this.#output.colour };
    const requestsPerSecond = this.#requests.perSecond(this.#drawnMs);
    return [...this.#shown.values()].flatMap(({ resource, events, updates }, index) => {
      const moment = {
        nowMs: this.#clock.now(),
        elapsedMs: this.#drawnMs - this.#begunMs,
        updatedPerMinute: updates.perMinute(this.#drawnMs),
        requestsPerSecond,
        events,
        steps: this.#stepsOf(resource),
      };
      const lines = viewOf(resource).render(resource, moment, options);
      return index === 0 ? lines : ['', ...lines];
    });
  }

  #printLine(shown: Shown): void {
    const line = renderLine(shown.resource);
    if (line === undefined) return;
    if (line.key === shown.lineKey) {
      // An unchanged line may mean that the resource makes no progress, so the reason is printed after some time.
      if (shown.reminder === undefined) this.#scheduleReason(shown, firstQuietMs);
      return;
    }
    shown.lineKey = line.key;
    this.#write(line.line);
    shown.message = line.wait;
    this.#scheduleReason(shown, firstQuietMs);
  }

  #scheduleReason(shown: Shown, quietMs: number): void {
    shown.reminder?.cancel();
    shown.reminder = undefined;
    if (this.#ended || renderReason(shown.resource) === undefined) return;
    shown.reminder = this.#clock.after(quietMs, () => {
      const { resource } = shown;
      const why = renderReason(resource);
      const isNew = resource.status?.outageStartTime !== undefined || shown.message !== why;
      if (why !== undefined && isNew) {
        this.#write(`${keyText(resource.metadata)}: ${renderMessage(resource, why, this.#stepsOf(resource))}`);
        shown.message = why;
      }
      this.#scheduleReason(shown, Math.min(2 * quietMs, longestQuietMs));
    });
  }

  #stepsOf(resource: AnyResource): NextSteps {
    const { flagsOf, resumeAll } = this.#options;
    return nextSteps(resource, flagsOf?.(resource) ?? {}, resumeAll?.());
  }

  #write(line: string): void {
    this.#output.write(`${line}\n`);
  }
}
