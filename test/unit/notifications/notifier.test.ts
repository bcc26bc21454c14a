/** Tests notifications: their Events, body, retries and limits, and that no secrets leak. */
import { describe, expect, test } from 'vitest';
import { reasons } from '../../../src/api/conditions.ts';
import { failure } from '../../../src/base/errors.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { seededRandom } from '../../../src/base/random.ts';
import type { OwnerRef } from '../../../src/host/host.ts';
import { type Notification, notificationOf, renderBody } from '../../../src/notifications/notification.ts';
import { Notifier, notificationCounter } from '../../../src/notifications/notifier.ts';
import { decodeWebhook } from '../../../src/notifications/webhook.ts';
import { CountingMetrics } from '../../support/counting-metrics.ts';
import { secretTexts } from '../../support/memory-secrets.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

const owner: OwnerRef = { kind: 'CollectorVersionPolicy', namespace: 'logging', name: 'production', uid: 'u-1' };
const stop = {
  type: 'Warning',
  reason: reasons.rolloutStopped,
  message: '2 of 3 <failed> & stopped.',
  stalled: true,
} as const;
const webhook = { url: 'https://hooks.example.com/T0/secret-path' };

function world(
  respond: (sent: number) => Error | undefined = () => undefined,
  received: (signal: AbortSignal) => Promise<void> = async () => undefined,
) {
  const clock = new VirtualClock();
  const metrics = new CountingMetrics();
  const sent: Notification[] = [];
  const times: number[] = [];
  const notifier = new Notifier({
    ...{ clock, metrics, log: silentLogger, random: seededRandom(1) },
    secret: { namespace: 'logfleet', name: 'webhook' },
    secrets: { get: async () => secretTexts(webhook) },
    send: async (_, notification, signal) => {
      times.push(clock.monotonic());
      await received(signal);
      const error = respond(times.length);
      if (error) throw error;
      sent.push(notification);
    },
  });
  const outcomes = () =>
    Object.fromEntries(
      [...metrics.values]
        .filter(([, count]) => count > 0)
        .map(([key, count]) => [/\{(.*)\}/.exec(key)?.[1] ?? '', count]),
    );
  return { clock, notifier, sent, times, outcomes };
}

const passing = failure('backoff', 'notification.failed', 'the webhook answered with status 503');

describe('notifications', () => {
  test.each([
    [reasons.rolloutStopped, 'Stopped'],
    [reasons.rollingBack, 'Stopped'],
    [reasons.awaitingApproval, 'ApprovalWanted'],
    [reasons.allUpdated, 'Completed'],
    [reasons.exported, 'Completed'],
    [reasons.exportedIncomplete, 'Incomplete'],
    [reasons.rollingOut, undefined],
    [reasons.serviceUnreachable, undefined],
  ])('an Event with the reason %s has the subject %s', (reason, subject) => {
    const event = { type: 'Normal', reason, message: 'x' } as const;
    expect(notificationOf(owner, event, 0)?.subject).toBe(subject);
  });

  test.each([reasons.unauthorized, reasons.runsFailed])(
    'a stall with the reason %s has the subject Stalled',
    (reason) => {
      const event = { ...stop, reason };
      expect(notificationOf(owner, event, 0)?.subject).toBe('Stalled');
    },
  );

  test('are not sent again when a resource returns to the same state, for example after a pause', () => {
    expect(notificationOf(owner, { ...stop, isSameState: true }, 0)).toBeUndefined();
  });

  test('have an id that depends on the resource, the reason and the time', () => {
    const id = (uid: string, reason: string, timeMs: number) =>
      notificationOf({ ...owner, uid }, { ...stop, reason }, timeMs)?.id;
    const ids = [id('a', 'X', 0), id('b', 'X', 0), id('a', 'Y', 0), id('a', 'X', 1)];
    expect(id('a', 'X', 0)).toBe(ids[0]);
    expect(new Set(ids).size).toBe(4);
  });

  test('are JSON, or texts for Slack with escaped characters', () => {
    const notification = notificationOf(owner, stop, 0) as Notification;
    expect(JSON.parse(renderBody(notification, 'json'))).toEqual({
      ...{ source: 'logfleet', id: notification.id, time: '1970-01-01T00:00:00.000Z', subject: 'Stopped' },
      ...{ kind: 'CollectorVersionPolicy', namespace: 'logging', name: 'production' },
      ...{ reason: 'RolloutStopped', message: stop.message },
    });
    expect(JSON.parse(renderBody(notification, 'slack'))).toEqual({
      text: '*Rollout stopped*: CollectorVersionPolicy logging/production (RolloutStopped)\n2 of 3 &lt;failed&gt; &amp; stopped.',
    });
  });
});

describe('the queue of notifications', () => {
  test('delivers a notification again after a failure, with a growing delay', async () => {
    const { clock, notifier, sent, times, outcomes } = world((count) => (count < 4 ? passing : undefined));
    notifier.announce(owner, stop);
    notifier.announce(owner, { ...stop, reason: reasons.awaitingApproval });
    await clock.advance(60_000);
    expect(sent.map(({ subject }) => subject)).toEqual(['Stopped', 'ApprovalWanted']);
    const [first = 0, second = 0, third = 0] = times.slice(1).map((time, index) => time - (times[index] ?? 0));
    expect(first < second && second < third).toBe(true);
    expect(outcomes()).toEqual({ sent: 2 });
  });

  test('delivers notifications that are queued after all earlier ones were delivered, but none after a shutdown', async () => {
    const { clock, notifier, sent, outcomes } = world();
    for (let count = 1; count <= 3; count++) {
      notifier.announce(owner, stop);
      await clock.advance(1_000);
      expect(sent).toHaveLength(count);
    }
    await notifier.stop(5_000);
    notifier.announce(owner, stop);
    await clock.advance(1_000);
    expect(outcomes()).toEqual({ sent: 3, dropped: 1 });
  });

  test('stops after ten attempts, and immediately if a retry cannot help', async () => {
    const lasting = world(() => passing);
    lasting.notifier.announce(owner, stop);
    await lasting.clock.advance(3_600_000);
    expect([lasting.times.length, lasting.outcomes()]).toEqual([10, { failed: 1 }]);
    const refused = world(() => failure('stall', 'notification.failed', 'the webhook answered with status 404'));
    refused.notifier.announce(owner, stop);
    await refused.clock.advance(3_600_000);
    expect([refused.times.length, refused.outcomes()]).toEqual([1, { failed: 1 }]);
  });

  test('shows zero failures before the first one, so that an alert sees the first one', () => {
    const metrics = new CountingMetrics();
    notificationCounter(metrics);
    const counts = ['sent', 'failed', 'dropped'].map((outcome) => [`logfleet_notifications_total{${outcome}}`, 0]);
    expect(Object.fromEntries(metrics.values)).toEqual(Object.fromEntries(counts));
  });

  test('holds at most 100 notifications, and counts the others as dropped', async () => {
    const { notifier, outcomes } = world(() => passing);
    for (let index = 0; index < 130; index++) notifier.announce(owner, stop);
    expect(outcomes()).toEqual({ dropped: 30 });
  });

  test('ends at a shutdown, even during an outage of the receiver', async () => {
    const { clock, notifier, outcomes } = world(() => passing);
    for (let index = 0; index < 3; index++) notifier.announce(owner, stop);
    await clock.during(notifier.stop(5_000));
    expect(outcomes()).toEqual({ failed: 1, dropped: 2 });
  });
});

test('a shutdown without undelivered notifications leaves no timer that would delay the end of the process', async () => {
  const { clock, notifier } = world();
  await notifier.stop(5_000);
  expect(clock.next()).toBeUndefined();
});

test('a shutdown ends a request to a receiver that never responds', async () => {
  const { clock, notifier, outcomes } = world(
    () => undefined,
    (signal) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(passing))),
  );
  notifier.announce(owner, stop);
  await clock.during(notifier.stop(5_000));
  expect(outcomes()).toEqual({ failed: 1 });
});

describe('the notification Secret', () => {
  test('may contain a line break after the type, as in a Secret from a file', () => {
    expect(decodeWebhook(secretTexts({ ...webhook, type: 'slack\n' })).format).toBe('slack');
  });

  test.each([
    [{}, 'lacks the key url'],
    [
      { url: 'http://hooks.example.com/secret-path' },
      'the value of the key url in the notification Secret is invalid: use an address that begins with https://',
    ],
    [
      { ...webhook, type: 'teams' },
      'the value of the key type in the notification Secret is invalid: use one of json, slack',
    ],
  ])('%o is refused, and the error does not contain its values', (members, problem) => {
    const decode = () => decodeWebhook(secretTexts(members as Record<string, string>));
    expect(decode).toThrow(problem);
    expect(decode).not.toThrow('secret-path');
  });
});
