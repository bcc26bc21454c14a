/**
 * Queue of notifications in this process. Delivers them one after another.
 *
 * Invariants:
 * - Callers never wait for a notification, and never fail because of one.
 * - The queue holds at most `maxQueued` notifications. Further notifications are dropped and counted.
 * - Each delivery is attempted at most `maxTries` times, with increasing delays.
 * - The queue is not stored, so undelivered notifications are lost when the process ends.
 */
import { sleep } from '../base/clock.ts';
import { asLogfleetError } from '../base/errors.ts';
import type { Counter, Metrics } from '../base/metrics.ts';
import type { Ports } from '../base/ports.ts';
import { retryDelayMs, scatteredMs } from '../base/retry-delay.ts';
import type { OwnerRef, ResourceEvent, ResourceKey, SecretReader } from '../host/host.ts';
import { type Notification, notificationOf } from './notification.ts';
import { decodeWebhook, invalid, type Webhook } from './webhook.ts';

const maxQueued = 100;
/**
 * Maximum number of attempts to deliver a notification. With the delays from `backoffMs`, the last attempt is about
 * five minutes after the first.
 */
const maxTries = 10;

export interface NotifierOptions extends Ports {
  /** Secret with the webhook's address. It is read before each delivery, so that changes take effect immediately. */
  readonly secret: ResourceKey;
  readonly secrets: Pick<SecretReader, 'get'>;
  /** Sends a notification. Rejects if the delivery fails, or if the signal is aborted. */
  readonly send: (webhook: Webhook, notification: Notification, signal: AbortSignal) => Promise<void>;
}

export class Notifier {
  readonly #options: NotifierOptions;
  readonly #outcomes: Counter;
  readonly #queue: Notification[] = [];
  readonly #stopped = new AbortController();
  #delivery: Promise<void> | undefined;

  constructor(options: NotifierOptions) {
    this.#options = options;
    this.#outcomes = notificationCounter(options.metrics);
  }

  /** Queues a notification about an Event, if users must be notified about the Event. */
  announce(owner: OwnerRef, event: ResourceEvent): void {
    const notification = notificationOf(owner, event, this.#options.clock.now());
    if (!notification) return;
    if (this.#queue.length >= maxQueued) {
      this.#outcomes.add({ outcome: 'dropped' });
      return;
    }
    this.#queue.push(notification);
    this.#delivery ??= this.#deliverAll();
  }

  /**
   * Waits up to `graceMs` for all queued notifications to be delivered. After that, aborts the running delivery, and
   * drops the remaining notifications.
   */
  async stop(graceMs: number): Promise<void> {
    const timer = this.#options.clock.after(graceMs, () => this.#stopped.abort());
    await this.#delivery;
    timer.cancel();
    this.#stopped.abort();
  }

  async #deliverAll(): Promise<void> {
    for (;;) {
      const [notification] = this.#queue;
      if (!notification) break;
      const outcome = this.#stopped.signal.aborted ? 'dropped' : await this.#deliver(notification);
      this.#queue.shift();
      this.#outcomes.add({ outcome });
    }
    this.#delivery = undefined;
  }

  async #deliver(notification: Notification): Promise<'sent' | 'failed'> {
    const { clock, random, log } = this.#options;
    for (let failures = 0; ; failures++) {
      try {
        await this.#send(notification);
        return 'sent';
      } catch (thrown) {
        const error = asLogfleetError(thrown);
        const isLast = failures + 1 >= maxTries || error.handling.kind === 'stall' || this.#stopped.signal.aborted;
        if (isLast) {
          const { id, subject, namespace, name } = notification;
          log.warn('a notification was not delivered', { id, subject, namespace, name, error });
          return 'failed';
        }
        await sleep(clock, scatteredMs(retryDelayMs(error, failures), random), this.#stopped.signal).catch(() => {});
      }
    }
  }

  async #send(notification: Notification): Promise<void> {
    const { secret, secrets, send } = this.#options;
    const members = await secrets.get(secret);
    if (!members)
      throw invalid(`the notification Secret (${secret.name} in namespace ${secret.namespace}) does not exist`);
    await send(decodeWebhook(members), notification, this.#stopped.signal);
  }
}

/**
 * Metric that counts notifications by outcome. The metric exists even if no webhook is configured, because an alert
 * uses it.
 */
export function notificationCounter(metrics: Metrics): Counter {
  const counter = metrics.counter(
    'logfleet_notifications_total',
    'Notifications, by outcome: sent, failed after all attempts, or dropped because the queue was full.',
    ['outcome'],
  );
  // Each series of the metric begins with the value 0, so that an alert on the increase of the counter does not miss
  // the first failure.
  for (const outcome of ['sent', 'failed', 'dropped']) counter.add({ outcome }, 0);
  return counter;
}
