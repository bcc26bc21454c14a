/** A search job created by a contract test, with its id and cookies. */
import { onTestFinished } from 'vitest';
import { type Deployment, onSimulator } from './deployment.ts';
import type { Received, SendOptions } from './https-client.ts';

export const jobsPath = '/v1/search/jobs';

/** Request body that creates a search job. Fields with the value undefined are not sent. */
export type JobBody = Readonly<Record<string, unknown>>;

/** Returns the request body that creates a search job for the sample messages. */
export function orderFor({ logs }: Deployment, changes: JobBody = {}): JobBody {
  return { query: logs.query, from: String(logs.fromMs), to: String(logs.toMs), timeZone: 'UTC', ...changes };
}

/** Requests a search job. Returns the response even if it is an error. */
export function requestJob(service: Deployment, changes: JobBody = {}, options: SendOptions = {}): Promise<Received> {
  return service.send('POST', jobsPath, { body: JSON.stringify(orderFor(service, changes)), ...options });
}

/** Creates a search job, which the caller must delete. */
export async function createJob(
  service: Deployment,
  changes: JobBody = {},
  options: SendOptions = {},
): Promise<ContractJob> {
  return new ContractJob(service, await requestJob(service, changes, options));
}

/** Creates a search job. On a real deployment, the job is deleted when the test ends. */
export async function startJob(
  service: Deployment,
  changes: JobBody = {},
  options: SendOptions = {},
): Promise<ContractJob> {
  const session = await createJob(service, changes, options);
  if (!onSimulator) onTestFinished(async () => void (await session.delete()));
  return session;
}

/** Status of a search job, as sent by the service. */
export interface ReceivedStatus {
  readonly state: string;
  readonly messageCount: number;
  readonly recordCount: number;
  readonly histogramBuckets: readonly {
    readonly startTimestamp: number;
    readonly length: number;
    readonly count: number;
  }[];
  readonly pendingErrors: readonly string[];
  readonly pendingWarnings: readonly string[];
  readonly usageDetails: { readonly dataScannedInBytes: number };
}

/** States in which a search job has finished. */
const endStates = ['DONE GATHERING RESULTS', 'FORCE PAUSED', 'CANCELLED'];
const pollMs = 1_000;
const maxPolls = 600;

export class ContractJob {
  readonly created: Received;
  readonly #service: Deployment;
  readonly #cookies = new Map<string, string>();

  constructor(service: Deployment, created: Received) {
    if (created.status !== 202) throw new Error(`no job was created: ${created.status} ${created.text}`);
    this.#service = service;
    this.created = created;
    this.#keep(created);
  }

  get id(): string {
    return this.created.json.id;
  }

  get cookie(): string {
    return [...this.#cookies].map((pair) => pair.join('=')).join('; ');
  }

  /** Sends a request to the path of the search job. `under` is appended to that path. */
  async send(method: string, under = '', { headers = {}, ...options }: SendOptions = {}): Promise<Received> {
    const cookie = this.#cookies.size > 0 ? { cookie: this.cookie } : {};
    const path = `${jobsPath}/${this.id}${under}`;
    const received = await this.#service.send(method, path, { ...options, headers: { ...cookie, ...headers } });
    this.#keep(received);
    return received;
  }

  status(): Promise<Received> {
    return this.send('GET');
  }

  messages(offset = 0, limit = 100): Promise<Received> {
    return this.send('GET', `/messages?offset=${offset}&limit=${limit}`);
  }

  records(offset = 0, limit = 100): Promise<Received> {
    return this.send('GET', `/records?offset=${offset}&limit=${limit}`);
  }

  delete(): Promise<Received> {
    return this.send('DELETE');
  }

  /** Polls the search job once per second until it ends. Returns all statuses. */
  async pollUntilDone(): Promise<readonly ReceivedStatus[]> {
    const seen: ReceivedStatus[] = [];
    for (let poll = 0; poll < maxPolls; poll++) {
      const { status, json, text } = await this.status();
      if (status !== 200) throw new Error(`the status of the job cannot be read: ${status} ${text}`);
      seen.push(json);
      if (endStates.includes(json.state)) return seen;
      await this.#service.pass(pollMs);
    }
    throw new Error(`the job is still ${seen.at(-1)?.state} after ${maxPolls} polls`);
  }

  #keep({ cookies }: Received): void {
    for (const cookie of cookies) {
      const [, name = '', value = ''] = /^([^=;]+)=([^;]*)/.exec(cookie) ?? [];
      this.#cookies.set(name.trim(), value);
    }
  }
}

export async function finishedJob(service: Deployment, changes: JobBody = {}): Promise<[ContractJob, ReceivedStatus]> {
  const job = await startJob(service, changes);
  return [job, (await job.pollUntilDone()).at(-1) as ReceivedStatus];
}
