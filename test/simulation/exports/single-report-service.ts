/** Simulated service that reports a search error only once, in a single status response for the search job. */
import {
  type InProcessRequest,
  type InProcessResponse,
  InProcessService,
  type Network,
} from '../../../simulator/in-process.ts';
import type { ServiceModel } from '../../../simulator/model.ts';
import { jobNumberOf } from '../../../simulator/search/job-id.ts';
import type { Clock } from '../../../src/base/clock.ts';
import type { Chance } from '../chance.ts';
import type { LiveData, LiveSearch } from './live-data.ts';

export interface SingleReportOptions {
  readonly model: ServiceModel;
  readonly clock: Clock;
  readonly network: Network;
  readonly data: LiveData;
  readonly chance: Chance;
  readonly note: (what: string) => void;
}

export class SingleReportService extends InProcessService {
  readonly #options: SingleReportOptions;

  constructor(options: SingleReportOptions) {
    super(options.model, options.clock, options.network);
    this.#options = options;
  }

  override async request(request: InProcessRequest): Promise<InProcessResponse> {
    try {
      const response = this.#without(request, this.#reported(request, await super.request(request)));
      this.#noteQuery(request, response);
      this.#noteStatus(request, response);
      const date = new Date(Math.floor(this.nowMs() / 1_000) * 1_000).toUTCString();
      return { ...response, headers: { ...response.headers, date } };
    } catch (error) {
      const search = this.#unreported(request);
      if (search && this.#options.chance.happens(0.5)) search.hasReported = true;
      throw error;
    }
  }

  /**
   * Adds the search error to the response to a status request. Does nothing if an earlier response has already reported
   * the error.
   */
  #reported(request: InProcessRequest, response: InProcessResponse): InProcessResponse {
    const search = this.#unreported(request);
    const isStatus = response.status === 200 && response.body.includes('"pendingErrors":[');
    const isTime = search?.endedAtMs !== undefined || this.#options.chance.happens(0.5);
    if (!search || !isStatus || !isTime) return response;
    search.hasReported = true;
    this.#options.note('tells that a shard was missed');
    const body = response.body
      .replace('"pendingErrors":[]', '"pendingErrors":["A shard was missed."]')
      .replace(/"pendingErrors":\["(?!A shard was missed)/, '"pendingErrors":["A shard was missed.","');
    return { ...response, body };
  }

  /** Removes rows from a result page, so that pages contain fewer rows than the service counts. */
  #without({ method, path }: InProcessRequest, response: InProcessResponse): InProcessResponse {
    const [, id, offset] = /\/jobs\/([0-9A-F]{16})\/records\?.*offset=(\d+)/.exec(path) ?? [];
    const search = method === 'GET' && response.status === 200 ? this.#searchOf(id) : undefined;
    if (!search) return response;
    search.isRead = true;
    const page = search.flaws.forgotten === 0 ? undefined : documentOf(response);
    if (!Array.isArray(page?.['records'])) return response;
    const left = Math.max(0, search.records - search.flaws.forgotten - Number(offset));
    return { ...response, body: JSON.stringify({ ...page, records: page['records'].slice(0, left) }) };
  }

  #noteStatus({ method, path }: InProcessRequest, response: InProcessResponse): void {
    const [, id] = /\/jobs\/([0-9A-F]{16})$/.exec(path) ?? [];
    const search = method === 'GET' && response.status === 200 ? this.#searchOf(id) : undefined;
    if (!search) return;
    const { recordCount, usageDetails } = (documentOf(response) ?? {}) as Partial<StatusDocument>;
    search.records = recordCount ?? search.records;
    const bytes = usageDetails?.dataScannedInBytes;
    if (bytes !== undefined) search.heard.push({ atMs: this.nowMs(), bytes });
  }

  #noteQuery({ method, body = '' }: InProcessRequest, response: InProcessResponse): void {
    if (method !== 'POST' || response.status !== 202) return;
    const search = this.#searchOf(/"([0-9A-F]{16})"/.exec(response.body)?.[1]);
    if (search) search.query = (JSON.parse(body) as { readonly query: string }).query;
  }

  /**
   * For a status request, returns the search if it has an error that no response has reported yet. Otherwise, returns
   * undefined.
   */
  #unreported({ method, path }: InProcessRequest): LiveSearch | undefined {
    const search = this.#searchOf(method === 'GET' ? /\/jobs\/([0-9A-F]{16})$/.exec(path)?.[1] : undefined);
    return search?.flaws.missedShard === undefined || search.hasReported ? undefined : search;
  }

  #searchOf(id: string | undefined): LiveSearch | undefined {
    const number = id === undefined ? undefined : jobNumberOf(id, this.model.scenario.seed ?? 1);
    return number === undefined ? undefined : this.#options.data.searches[number];
  }
}

interface StatusDocument {
  readonly recordCount: number;
  readonly usageDetails: { readonly dataScannedInBytes: number };
}

/** Parses a response body. Returns undefined if it is not a JSON object. */
function documentOf({ body }: InProcessResponse): Readonly<Record<string, unknown>> | undefined {
  try {
    const document: unknown = JSON.parse(body);
    return typeof document === 'object' && document !== null ? (document as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
