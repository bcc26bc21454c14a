/**
 * Tests a search job: its status requests, lost responses, its end and its deletion (B4, E5, sections 3.1 and 4.5 of
 * docs/service.md).
 */
import { describe, expect, test } from 'vitest';
import { JobAdmission } from '../../../../src/service/budget/job-admission.ts';
import type { JobProgress } from '../../../../src/service/jobs/job-gathering.ts';
import { SearchJob } from '../../../../src/service/jobs/search-job.ts';
import { SearchJobs } from '../../../../src/service/jobs/search-jobs.ts';
import type { JobStatus } from '../../../../src/service/jobs/search-service.ts';
import { done, FakeJob, FakePermit, failure, order, running, serve } from '../../../support/fake-job.ts';
import { RecordingLogger } from '../../../support/recording-logger.ts';
import { RecordingReceiver } from '../../../support/recording-receiver.ts';
import { settle, VirtualClock } from '../../../support/virtual-clock.ts';
import { settled } from '../requests/harness.ts';

function world(status: FakeJob['status'] = () => running, expectedMs = 2_000) {
  const clock = new VirtualClock();
  const fake = new FakeJob(clock);
  fake.status = status;
  const permit = new FakePermit(clock);
  const seen: JobProgress[] = [];
  const job = new SearchJob({
    job: fake,
    order,
    permit,
    clock,
    onProgress: (progress) => seen.push(progress),
  });
  job.expect(expectedMs);
  return { clock, fake, permit, job, seen };
}

/** Returns the status of a search job that takes `durationMs`, at `elapsedMs` after its start. */
function statusAt(elapsedMs: number, durationMs: number): JobStatus {
  const part = Math.min(1, elapsedMs / durationMs);
  const startMs = order.toMs - Math.floor(part * 100) * 1_000;
  const buckets = part === 0 ? [] : [{ startMs, lengthMs: 1_000, count: 1 }];
  return part === 1 ? done(1) : { ...running, messageCount: buckets.length, buckets };
}

describe('the schedule of status requests (B4)', () => {
  test.each([
    [1_000, 1],
    [4_000, 2],
    [10_000, 2],
  ])('a search of %d ms is shown as done by status number %d', async (durationMs, statuses) => {
    const { clock, fake, job } = world();
    fake.status = () => statusAt(clock.monotonic(), durationMs);
    await settled(clock, job.whenFinished());
    expect(job.progress.statuses).toBe(statuses);
    expect(clock.monotonic()).toBeLessThan(1.5 * durationMs + 2_000);
  });

  test('one status request if the search ends as expected, otherwise two', async () => {
    const { clock, fake, job } = world(() => statusAt(clock.monotonic(), 6_000), 6_500);
    await settled(clock, job.whenFinished());
    expect(fake.asked).toEqual([6_500]);
    const slower = world(() => statusAt(slower.clock.monotonic(), 9_000), 6_500);
    await settled(slower.clock, slower.job.whenFinished());
    expect(slower.fake.asked).toHaveLength(2);
  });

  test('a new expected end moves the first status request, unless a status has already been returned', async () => {
    const { clock, fake, job } = world(() => statusAt(clock.monotonic(), 6_000), Number.POSITIVE_INFINITY);
    await clock.advance(5_000);
    expect(fake.asked).toEqual([]);
    job.expect(6_500);
    await settled(clock, job.whenFinished());
    expect(fake.asked).toEqual([6_500]);
    job.expect(7_000);
    await clock.advance(5_000);
    expect(fake.asked).toEqual([6_500]);
  });

  test('a long search is polled every 12 s, and each keep-alive has its due time', async () => {
    const { clock, fake } = world();
    await clock.advance(70_000);
    expect(fake.asked).toEqual([2_000, 10_500, 21_000, 33_000, 45_000, 57_000, 69_000]);
    expect(fake.options.map(({ dueMs, isProgressCheck }) => [dueMs, isProgressCheck]).slice(0, 5)).toEqual([
      [2_000, true],
      [10_500, true],
      [21_000, true],
      [33_000, false],
      [45_000, false],
    ]);
  });

  test('a finished job needs only keep-alives, which returned pages postpone', async () => {
    const { clock, fake, job } = world(() => done(4));
    fake.page = serve(4, 1);
    const log = new RecordingReceiver();
    await clock.advance(10_000);
    await job.readMessagePage({ offset: 0, receiver: log });
    await clock.advance(11_000);
    await job.readMessagePage({ offset: 1, receiver: log });
    await clock.advance(11_999);
    expect(fake.asked).toEqual([2_000]);
    await clock.advance(1);
    expect(fake.asked).toEqual([2_000, 33_000]);
    await clock.advance(24_000);
    expect(fake.asked).toEqual([2_000, 33_000, 45_000, 57_000]);
  });

  test('pages do not postpone a status request of an unfinished job', async () => {
    const { clock, fake, job } = world(() => ({ ...running, messageCount: 50 }));
    fake.page = serve(50, 1);
    const log = new RecordingReceiver();
    for (let row = 0; row < 22; row++) {
      await clock.advance(1_000);
      await job.readMessagePage({ offset: row, receiver: log });
    }
    expect(fake.asked).toEqual([2_000, 10_500, 21_000]);
  });

  test('a waiting progress request is replaced by a keep-alive that is due', async () => {
    const { clock, fake } = world();
    const waiting: { readonly isProgressCheck: boolean | undefined; readonly signal: AbortSignal | undefined }[] = [];
    fake.getStatus = ({ isProgressCheck, signal } = {}) => {
      waiting.push({ isProgressCheck, signal });
      return new Promise((_resolve, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason));
      });
    };
    await clock.advance(11_999);
    expect(waiting).toHaveLength(1);
    await clock.advance(1);
    expect(waiting.map(({ isProgressCheck, signal }) => [isProgressCheck, signal?.aborted])).toEqual([
      [true, true],
      [false, false],
    ]);
  });

  test('a repeated request does not displace a waiting one', async () => {
    const { clock, fake } = world();
    const writes: ((() => void) | undefined)[] = [];
    fake.getStatus = ({ beforeSend } = {}) => {
      writes.push(beforeSend);
      return new Promise(() => {});
    };
    await clock.advance(2_000);
    writes[0]?.();
    await clock.advance(10_000);
    expect(writes).toHaveLength(2);
    writes[0]?.();
    await clock.advance(600_000);
    expect(writes).toHaveLength(2);
    writes[1]?.();
    await clock.advance(600_000);
    expect(writes).toHaveLength(3);
  });

  test.each([
    ['an unknown state', { ...running, state: { unknown: 'RESTING' } } as const],
    ['DONE GATHERING HISTOGRAM (E13)', { ...running, state: 'doneGatheringHistogram' } as const],
  ])('%s is not final: polling continues', async (_name, status) => {
    const { clock, fake, job } = world(() => status);
    await clock.advance(100_000);
    expect(fake.asked.length).toBeGreaterThan(8);
    fake.status = () => done(0);
    expect(await settled(clock, job.whenFinished())).toMatchObject({ state: 'doneGatheringResults' });
  });

  test('FORCE PAUSED is final', async () => {
    const { clock, job } = world(() => ({ ...running, state: 'forcePaused', messageCount: 100_000 }));
    expect(await settled(clock, job.whenFinished())).toMatchObject({ state: 'forcePaused', messageCount: 100_000 });
  });
});

describe('the check of an aggregation (7.4)', () => {
  test('needs one page, even if there are no rows', async () => {
    const { clock, fake, job } = world(() => done(0));
    await settled(clock, job.checkAggregation());
    expect(fake.queries).toEqual([{ offset: 0, limit: 1 }]);
  });

  test('rejects for a query without an aggregation', async () => {
    const { clock, fake, job } = world(() => done(0));
    const refusal = failure('no.records.not.an.aggregation.query', { stall: true });
    fake.records = () => {
      throw refusal;
    };
    expect(await settled(clock, job.checkAggregation())).toBe(refusal);
    expect(fake.queries).toHaveLength(1);
  });
});

describe('a status request without a response', () => {
  test('taints the job if errors may be lost, but not if it was rejected or never sent (E5)', async () => {
    for (const [error, hasLostStatus] of [
      [failure('timeout', { effect: 'unknown' }), true],
      [failure('rateLimited', { retryAfterMs: 1 }), false],
      [failure('refused', { sent: false }), false],
    ] as const) {
      const { clock, fake, job } = world();
      fake.status = () => {
        fake.status = () => done(0);
        throw error;
      };
      await settled(clock, job.whenFinished());
      expect(job.progress.hasLostStatus).toBe(hasLostStatus);
    }
  });

  test('is repeated twice immediately, then less often, each time as a due keep-alive (B4)', async () => {
    const { clock, fake } = world();
    let isDown = false;
    fake.status = async () => {
      if (!isDown) return running;
      await new Promise<void>((resolve) => void clock.after(2_000, resolve));
      throw failure('timeout', { effect: 'unknown' });
    };
    await clock.advance(27_000);
    isDown = true;
    await clock.advance(38_000);
    expect(fake.asked.slice(3)).toEqual([33_000, 35_000, 37_000, 40_000, 44_000, 50_000, 56_000, 62_000]);
    expect(fake.options.slice(3).map(({ isProgressCheck, dueMs }) => [isProgressCheck, dueMs])).toEqual(
      Array(8).fill([false, 33_000]),
    );
  });

  test('is repeated early enough to arrive within 20 s, and its late response still counts (B4, E5)', async () => {
    const { clock, fake, job } = world();
    const responses: ((status: JobStatus) => void)[] = [];
    fake.status = () => new Promise((resolve) => responses.push(resolve));
    await clock.advance(33_000);
    expect(fake.asked).toEqual([2_000, 12_000, 16_000, 20_000, 28_000]);
    expect(fake.options.map(({ isProgressCheck }) => isProgressCheck)).toEqual([true, false, false, false, false]);
    expect(job.end).toBeUndefined();
    responses[3]?.({ ...running, messageCount: 9, pendingErrors: ['second'] });
    responses[0]?.({ ...running, messageCount: 2, pendingErrors: ['first'], pendingWarnings: ['slow'] });
    await settle();
    // The service reports each error and warning only once, so the client keeps all errors and warnings. It takes all
    // other data from the latest status.
    expect(job.progress).toMatchObject({ messageCount: 9, hasLostStatus: false, statuses: 2 });
    expect(job.progress.errors).toEqual(['second', 'first']);
    expect(job.progress.warnings).toEqual(['slow']);
  });

  test('is awaited before the search counts as finished, unlike later requests (E5)', async () => {
    for (const isLost of [false, true]) {
      const { clock, fake, job } = world();
      let response: (status: JobStatus | Promise<JobStatus>) => void = () => {};
      fake.status = () => new Promise((resolve) => (response = resolve));
      await clock.advance(11_000);
      fake.status = () => done(3);
      await clock.advance(1_000);
      let finished: JobProgress | undefined;
      void job.whenFinished().then((progress) => (finished = progress));
      await settle();
      expect([fake.asked, job.progress.state, finished]).toEqual([[2_000, 12_000], 'doneGatheringResults', undefined]);
      fake.status = () => new Promise(() => {});
      await clock.advance(13_000);
      expect([fake.asked.at(-1), finished]).toEqual([24_000, undefined]);
      if (isLost) response(Promise.reject(failure('timeout', { effect: 'unknown' })));
      else response({ ...running, messageCount: 1, pendingErrors: ['late'] });
      await settle();
      expect(finished).toMatchObject({ messageCount: 3, hasLostStatus: isLost });
      expect(finished?.errors).toEqual(isLost ? [] : ['late']);
      expect(fake.asked.at(-1)).toBe(24_000);
    }
  });

  test('because of a missing cookie is repeated as long as the service may count the job (5.3, 3.1)', async () => {
    const { clock, fake, job, permit } = world(() => {
      if (clock.monotonic() < 6_000) throw failure('jobCookieMissing');
      return running;
    });
    await clock.advance(10_000);
    expect([job.end, permit.endedAtMs, job.progress.statuses]).toEqual([undefined, undefined, 1]);
    fake.status = () => {
      throw failure('jobCookieMissing');
    };
    expect(await settled(clock, job.whenFinished())).toMatchObject({ code: 'service.jobCookieMissing' });
    expect(clock.monotonic() - fake.heardAtMs).toBeGreaterThanOrEqual(30_000);
    await clock.advance(30_000);
    expect(permit.endedAtMs).toBeGreaterThanOrEqual(fake.heardAtMs + 30_000);
  });

  test('because of a missing connection is repeated after at least a second', async () => {
    const { clock, fake } = world(() => {
      throw failure('refused', { sent: false });
    });
    await clock.advance(12_000);
    expect(fake.asked).toEqual([2_000, 3_000, 4_000, 5_000, 7_000, 11_000]);
  });

  test('for a minute ends the job, because the service has cancelled it (3.1)', async () => {
    const { clock, fake, job, permit } = world(() => {
      throw failure('refused', { sent: false });
    });
    const error = await settled(clock, job.whenFinished());
    expect(error).toMatchObject({
      code: 'service.jobSilenced',
      reason: 'JobSilenced',
      message: expect.stringMatching(/has not accepted a request for this job for 6\d s\. The last error: refused$/),
    });
    expect(clock.monotonic()).toBeGreaterThanOrEqual(60_000);
    const asked = fake.asked.length;
    await clock.advance(600_000);
    expect([fake.asked.length, permit.endedAtMs, clock.next()]).toEqual([asked, expect.any(Number), undefined]);
  });

  test('because of invalid responses for a minute ends the job with the error of the last response', async () => {
    const invalid = failure('responseInvalid', { effect: 'unknown', reason: 'ResponseInvalid' });
    const { clock, job } = world(() => {
      throw invalid;
    });
    expect(await settled(clock, job.whenFinished())).toBe(invalid);
    expect(clock.monotonic()).toBeGreaterThanOrEqual(60_000);
  });

  test('right after the creation is repeated, since a replica may not know the job yet (10.2)', async () => {
    const { clock, fake, job } = world(() => {
      if (clock.monotonic() < 5_000) throw failure('jobNotKnownYet');
      return done(3);
    });
    expect(await settled(clock, job.whenFinished())).toMatchObject({ messageCount: 3, hasLostStatus: false });
    expect(fake.asked).toEqual([2_000, 3_000, 4_000, 5_000]);
  });
});

describe('an end caused by the service', () => {
  test.each(['jobSilenced', 'jobTimedOut', 'jobGone'] as const)('%s', async (outcome) => {
    const error = failure(outcome);
    const { clock, fake, job, permit } = world(() => {
      throw error;
    });
    expect(await settled(clock, job.whenFinished())).toBe(error);
    expect([job.end, permit.endedAtMs, fake.asked]).toEqual([error, 2_000, [2_000]]);
    await job.close();
    expect([fake.deletions, clock.next()]).toEqual([0, undefined]);
  });

  test('another client cancels the job (3.1)', async () => {
    const { clock, job, permit, seen } = world(() => ({ ...running, state: 'cancelled' }));
    expect(await settled(clock, job.whenFinished())).toMatchObject({ code: 'job.cancelled', reason: 'JobCancelled' });
    expect([permit.endedAtMs, seen.at(-1)?.state]).toEqual([2_000, 'cancelled']);
  });

  test('a permanent rejection: no further requests, and the permit is kept until the job must have expired', async () => {
    const { clock, fake, job, permit } = world(() => {
      throw failure('unauthorized', { stall: true });
    });
    expect(await settled(clock, job.whenFinished())).toMatchObject({ code: 'service.unauthorized' });
    expect([fake.asked.length, permit.endedAtMs]).toEqual([1, undefined]);
    await clock.advance(30_000);
    expect([fake.asked.length, permit.endedAtMs]).toEqual([1, 32_000]);
  });

  test('ends the current reading with its error', async () => {
    const { clock, fake, job } = world(() => done(10));
    fake.page = () => new Promise<number>(() => {});
    fake.listMessages = (_query, _receiver, options) =>
      new Promise((_resolve, reject) => {
        options?.signal?.addEventListener('abort', () => reject(failure('abandoned')));
      });
    await clock.advance(2_000);
    const reading = job.readMessagePage({ offset: 0, receiver: new RecordingReceiver() });
    fake.status = () => ({ ...running, state: 'cancelled' });
    expect(await settled(clock, reading)).toMatchObject({ code: 'job.cancelled' });
    await expect(job.readMessagePage({ offset: 0, receiver: new RecordingReceiver() })).rejects.toMatchObject({
      code: 'job.cancelled',
    });
  });

  test('leaves the results unread and keeps the last status', async () => {
    const { clock, fake, job } = world(() => done(10));
    await clock.advance(2_000);
    fake.status = () => {
      throw failure('jobGone');
    };
    await clock.advance(12_000);
    expect(await job.whenFinished()).toMatchObject({ messageCount: 10 });
    await expect(job.readMessagePage({ offset: 0, receiver: new RecordingReceiver() })).rejects.toMatchObject({
      code: 'service.jobGone',
    });
  });
});

describe('closing', () => {
  test('deletes the job once, ends its permit, and sends nothing more', async () => {
    const { clock, fake, job, permit } = world();
    await clock.advance(5_000);
    await Promise.all([job.close(), job.close()]);
    expect([fake.deletions, permit.endedAtMs]).toEqual([1, 5_000]);
    await clock.advance(600_000);
    expect([fake.asked, clock.next()]).toEqual([[2_000], undefined]);
    expect(await settled(clock, job.whenFinished())).toMatchObject({ code: 'job.closed' });
  });

  test('lets a status request in flight end, and withdraws a waiting one', async () => {
    for (const isSent of [true, false]) {
      const { clock, fake, job } = world();
      let signal: AbortSignal | undefined;
      fake.getStatus = (options = {}) => {
        if (isSent) options.beforeSend?.();
        signal = options.signal;
        return new Promise((_resolve, reject) => {
          options.signal?.addEventListener('abort', () => reject(options.signal?.reason));
        });
      };
      await clock.advance(2_000);
      await job.close();
      expect(signal?.aborted).toBe(!isSent);
    }
  });

  test('tries a deletion three times, and then lets the job expire', async () => {
    const { clock, fake, job, permit } = world();
    fake.deletion = () => {
      throw failure('connectionLost', { effect: 'unknown' });
    };
    await settled(clock, job.close());
    expect([fake.deletions, permit.endedAtMs]).toEqual([3, undefined]);
    await clock.advance(30_000);
    expect(permit.endedAtMs).toBeDefined();
  });

  test('tries a deletion only once if a user must act first', async () => {
    const { clock, fake, job } = world();
    fake.deletion = () => {
      throw failure('unauthorized', { stall: true });
    };
    await settled(clock, job.close());
    expect(fake.deletions).toBe(1);
  });

  test('is tried until every replica must know the job (10.2)', async () => {
    const { clock, fake, job, permit } = world();
    fake.deletion = () => {
      if (clock.monotonic() < 10_000) throw failure('jobNotKnownYet');
    };
    await settled(clock, job.close());
    expect([fake.deletions, permit.endedAtMs]).toEqual([6, 15_500]);
  });

  test('ends running page reads', async () => {
    const { clock, fake, job } = world(() => done(10));
    await clock.advance(2_000);
    fake.listMessages = (_query, _receiver, options) =>
      new Promise((_resolve, reject) => {
        options?.signal?.addEventListener('abort', () => reject(failure('abandoned')));
      });
    const reading = job.readMessagePage({ offset: 0, receiver: new RecordingReceiver() });
    const closing = job.close();
    expect(await settled(clock, reading)).toMatchObject({ code: 'job.closed' });
    await closing;
  });
});

describe('an error of the caller', () => {
  test.each(['an Error', 'a LogfleetError'])(
    '%s thrown by onProgress ends and deletes the job, and rejects all waiting calls',
    async (kind) => {
      const { clock, fake, permit } = world();
      const thrown = kind === 'an Error' ? new Error('mine') : failure('generic');
      const job = new SearchJob({
        job: fake,
        order,
        permit,
        clock,
        onProgress: () => {
          throw thrown;
        },
      });
      job.expect(2_000);
      expect(await settled(clock, job.whenFinished())).toBe(thrown);
      await expect(job.readMessagePage({ offset: 0, receiver: new RecordingReceiver() })).rejects.toBe(thrown);
      await job.close();
      expect([fake.deletions, permit.endedAtMs]).toEqual([1, 2_000]);
    },
  );

  test('while decoding a status ends and deletes the job without a close', async () => {
    const bug = new TypeError('not a function');
    const { clock, fake, job, permit } = world(() => {
      throw bug;
    });
    expect(await settled(clock, job.whenFinished())).toMatchObject({ code: 'bug.unexpected', cause: bug });
    await settle();
    expect([fake.deletions, permit.endedAtMs]).toEqual([1, 2_000]);
    await job.close();
    expect(fake.deletions).toBe(1);
  });
});

test('a waiter can stop waiting without ending the job', async () => {
  const { clock, job, fake } = world();
  const controller = new AbortController();
  const waiting = job.whenFinished(controller.signal);
  clock.after(3_000, () => controller.abort(new Error('enough')));
  expect(await settled(clock, waiting)).toMatchObject({ message: 'enough' });
  fake.status = () => done(1);
  expect(await settled(clock, job.whenFinished())).toMatchObject({ messageCount: 1 });
});

describe('opening', () => {
  function opener(limit: number) {
    const clock = new VirtualClock();
    const permits = new JobAdmission(clock, () => limit);
    const created: FakeJob[] = [];
    const log = new RecordingLogger();
    let creation: () => void = () => {};
    const jobs = new SearchJobs({
      clock,
      permits,
      log,
      service: {
        createJob: async () => {
          creation();
          const fake = new FakeJob(clock);
          created.push(fake);
          return { value: fake, sentAtMs: clock.monotonic() };
        },
      },
    });
    return {
      clock,
      permits,
      created,
      log,
      jobs,
      fail: (error: Error) =>
        (creation = () => {
          throw error;
        }),
    };
  }

  test('takes a permit before the creation, and the next job follows when a job is closed (B4)', async () => {
    const { clock, jobs, permits, created } = opener(2);
    await clock.advance(5_000);
    const [first] = await Promise.all([jobs.open(order), jobs.open(order)]);
    expect(first?.createdAtMs).toBe(5_000);
    const third = jobs.open(order);
    await settle();
    expect([created.length, permits.active]).toEqual([2, 2]);
    await first?.close();
    await third;
    expect([created.length, permits.active]).toEqual([3, 2]);
  });

  test('an unknown state is logged once for all jobs (10.2)', async () => {
    const { clock, jobs, created, log } = opener(3);
    const opened = [await jobs.open(order), await jobs.open(order), await jobs.open(order)];
    for (const [index, state] of ['RESTING', 'RESTING', 'DREAMING'].entries()) {
      const job = created[index] as FakeJob;
      job.status = () => ({ ...running, state: { unknown: state } });
    }
    await clock.advance(100_000);
    expect(log.lines).toMatchObject([
      { level: 'warn', fields: { state: 'RESTING' } },
      { level: 'warn', fields: { state: 'DREAMING' } },
    ]);
    expect(opened.map(({ end }) => end)).toEqual([undefined, undefined, undefined]);
  });

  test('an aborted wait for a permit leaves nothing behind', async () => {
    const { jobs, permits } = opener(1);
    await jobs.open(order);
    const controller = new AbortController();
    const waiting = jobs.open(order, { signal: controller.signal });
    controller.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    expect(permits.active).toBe(1);
  });

  test('returns the permit after a rejected creation', async () => {
    const { jobs, permits, fail } = opener(1);
    fail(failure('parse.error', { stall: true }));
    await expect(jobs.open(order)).rejects.toMatchObject({ code: 'service.parse.error' });
    expect(permits.active).toBe(0);
  });

  test('keeps the permit for 30 s after a lost creation that may have created a job (3.1)', async () => {
    const { clock, jobs, permits, fail, created } = opener(1);
    fail(failure('timeout', { effect: 'unknown' }));
    await expect(jobs.open(order)).rejects.toMatchObject({ code: 'service.timeout', effect: 'unknown' });
    expect(created).toHaveLength(0);
    await clock.advance(29_999);
    expect(permits.active).toBe(1);
    await clock.advance(1);
    expect(permits.active).toBe(0);
  });
});
