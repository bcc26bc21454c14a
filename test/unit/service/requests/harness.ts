/**
 * Service client for tests, with a scripted transport and a virtual clock. `calls` has a function for each of the
 * service's nine operations.
 */
import { noMetrics } from '../../../../src/base/metrics.ts';
import { SecretText } from '../../../../src/base/secret-text.ts';
import { ServiceClient } from '../../../../src/service/client.ts';
import { JobClient } from '../../../../src/service/jobs/job-client.ts';
import type { JobOrder, OpenJob } from '../../../../src/service/jobs/search-service.ts';
import type { CallOptions } from '../../../../src/service/requests/call.ts';
import { Exchange, type ExchangeOptions } from '../../../../src/service/requests/exchange.ts';
import { JobSession } from '../../../../src/service/requests/job-session.ts';
import type { Operation } from '../../../../src/service/requests/operation.ts';
import { ServiceError } from '../../../../src/service/requests/service-error.ts';
import { RecordingReceiver } from '../../../support/recording-receiver.ts';
import { RecordingBudget, ScriptedTransport, type TransportStep } from '../../../support/scripted-transport.ts';
import { VirtualClock } from '../../../support/virtual-clock.ts';

export const home = 'https://service.test/api';
export const accessKey = 'canary-key';

export interface Harness {
  readonly clock: VirtualClock;
  readonly transport: ScriptedTransport;
  readonly budget: RecordingBudget;
  readonly client: ServiceClient;
  /** Search job that was created a minute ago. Its session has a cookie. */
  readonly job: OpenJob;
  jobOf(ageMs: number, setCookies?: readonly string[]): OpenJob;
}

export const jobCookie = 'SESSION=canary-cookie; Path=/; Secure; HttpOnly';

export function harness(steps: readonly TransportStep[]): Harness {
  const clock = new VirtualClock();
  const transport = new ScriptedTransport(clock, steps);
  const budget = new RecordingBudget(clock);
  const options: ExchangeOptions = {
    transport,
    budget,
    clock,
    metrics: noMetrics,
    address: { origin: 'https://service.test', basePath: '/api' },
    accessId: 'id',
    accessKey: new SecretText(accessKey),
    allowedHosts: ['other.test'],
    userAgent: 'logfleet/test',
  };
  const exchange = new Exchange(options);
  const jobOf = (ageMs: number, setCookies: readonly string[] = [jobCookie]) => {
    const session = new JobSession(clock);
    session.answered(options.address, true, clock.monotonic() - ageMs);
    session.cookies.store(new URL(`${home}/v1/search/jobs`), setCookies);
    return new JobClient({ id: 'A1/B2', warning: creationNotice, exchange, session });
  };
  return { clock, transport, budget, client: new ServiceClient(options), job: jobOf(60_000), jobOf };
}

const order: JobOrder = {
  query: '_sourceCategory=web "100 %"',
  fromMs: 1_788_000_000_000,
  toMs: 1_788_003_600_000,
};

export const calls: {
  readonly [O in Operation]: (harness: Harness, options?: CallOptions) => Promise<unknown>;
} = {
  createJob: ({ client }, options) => client.createJob(order, options),
  getJob: ({ job }, options) => job.getStatus(options),
  listMessages: ({ job }, options) => job.listMessages({ offset: 20, limit: 100 }, new RecordingReceiver(), options),
  listRecords: ({ job }, options) => job.listRecords({ offset: 0, limit: 10_000 }, options),
  deleteJob: ({ job }, options) => job.delete(options),
  listCollectors: ({ client }, options) =>
    client.listCollectors({ toVersion: '1.2-3', offset: 0, limit: 100 }, options),
  listBuilds: ({ client }, options) => client.listBuilds(options),
  getTask: ({ client }, options) => client.getTask('77', options),
  createTask: ({ client }, options) =>
    client.createTask({ collectorId: '9007199254740993', toVersion: '1.2-3' }, options),
};

const creationNotice =
  'A 404 status (Page Not Found) on a follow-up request may be due to a cookie not accompanying the request';

/** Returns messages, newest first. Their ids are consecutive, starting at `first`. */
export function messages(first: number, count: number): string {
  const rows = Array.from({ length: count }, (_, index) => {
    const id = first + index;
    return `{"map":{"_messageid":"${id}","_messagetime":"${1_788_003_599_999 - id}","_raw":"line ${id}"}}`;
  });
  return `{"fields":[{"name":"_messageid","fieldType":"long","keyField":false}],"messages":[${rows.join(',')}]}`;
}

export const goodBodies: { readonly [O in Operation]: string } = {
  createJob: `{"id":"A1/B2","link":{"rel":"self","href":"${home}/v1/search/jobs/A1/B2"},"warning":"${creationNotice}"}`,
  getJob: '{"state":"DONE GATHERING RESULTS","messageCount":2,"recordCount":0,"histogramBuckets":[]}',
  listMessages: messages(20, 2),
  listRecords: '{"fields":[{"name":"_count","fieldType":"int","keyField":false}],"records":[{"map":{"_count":"3"}}]}',
  deleteJob: '{"id":"A1/B2"}',
  listCollectors: '{"collectors":[{"id":1,"name":"a"}]}',
  listBuilds: '{"targets":[{"version":"1.2-3","latest":true}]}',
  getTask: '{"upgrade":{"id":77,"collectorId":1,"toVersion":"1.2-3","status":2}}',
  createTask: '{"id":"77","link":{"rel":"self","href":"/v1/collectors/upgrades/77"}}',
};

export const good = (operation: Operation): TransportStep => ({
  kind: 'response',
  status: 200,
  body: goodBodies[operation],
});

/** Advances the clock until the call has ended. Returns its result or error. */
export function settled(clock: VirtualClock, call: Promise<unknown>): Promise<unknown> {
  return clock.during(call.catch((error: unknown) => error));
}

/** Calls the operation while the transport follows the script `steps`. Returns the error with which the call fails. */
export async function failureOn(
  operation: Operation,
  steps: readonly TransportStep[],
  options?: CallOptions,
): Promise<{ readonly error: ServiceError; readonly harness: Harness }> {
  const world = harness(steps);
  return { error: await failureOf(world, calls[operation](world, options)), harness: world };
}

export async function failureOf({ clock }: Harness, call: Promise<unknown>): Promise<ServiceError> {
  const error = await settled(clock, call);
  if (!(error instanceof ServiceError)) throw new Error(`no ServiceError but ${String(error)}`);
  return error;
}
