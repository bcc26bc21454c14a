/** The five search-job operations (sections 4.1 to 4.5 of docs/service.md). */

import { drawFor } from '../base/chance.ts';
import { pickFrom } from '../base/span.ts';
import type { Timeline } from '../base/timeline.ts';
import type { Effort } from '../log-data/effort.ts';
import type { LogData } from '../log-data/log-data.ts';
import { AggregationMemory } from '../query/aggregation-memory.ts';
import { type CallResult, type Refused, refuseSearch, type ServiceCall } from '../requests/call.ts';
import type { Why } from '../requests/journal.ts';
import { jsonResponse, tooManyRequests } from '../requests/response.ts';
import type { FoundMessages } from './found-messages.ts';
import { jobIdOf } from './job-id.ts';
import { cookieNotice, renderStatus } from './job-status.ts';
import { messageBody, readPageParameters, renderRecords } from './result-pages.ts';
import { type RequestBody, readDefinition, type SearchDefinition } from './search-definition.ts';
import { SimulatedSearchJob } from './search-job.ts';
import { SimulatedSearchJobs } from './search-jobs.ts';
import { SearchResults } from './search-results.ts';
import { scheduleOf } from './search-schedule.ts';
import { Sessions } from './session.ts';

export const jobsPath = '/v1/search/jobs';

/** Kind of request about a search job. */
type Asking = 'status' | 'page' | 'deletion';

export class SearchOperations {
  readonly jobs: SimulatedSearchJobs;
  readonly #sessions: Sessions;
  readonly #seed: number;
  readonly #data: () => LogData;
  readonly #effort: Effort;
  readonly #memory = new AggregationMemory();
  refusedForJobs = 0;

  /**
   * Creates the search-job operations. `data` returns the messages for a new search job. `effort` limits the total
   * computing time of all search jobs.
   */
  constructor(timeline: Timeline, seed: number, data: () => LogData, effort: Effort) {
    this.jobs = new SimulatedSearchJobs(timeline, seed);
    this.#effort = effort;
    this.#sessions = new Sessions(seed);
    this.#seed = seed;
    this.#data = data;
  }

  /** Creates a search job. `body` is undefined if the request body is not a JSON object. */
  create(body: RequestBody | undefined, call: ServiceCall): CallResult {
    const { key, settings, request, basePath } = call;
    const definition = readDefinition(body, settings.search);
    if ('code' in definition) return refuseSearch(400, definition.code, definition.message);
    const maxJobs = settings.activeJobs.get(key.organisation) ?? settings.limits.activeJobs;
    if (maxJobs > 0 && this.jobs.active(key.organisation) >= maxJobs) {
      this.refusedForJobs++;
      return { refusal: tooManyRequests(settings.limits.retryAfter, 'activeJobs') };
    }
    const { names } = settings.search.cookies;
    const session = this.#sessions.read(request.headers['cookie'], names) ?? this.#sessions.begin();
    const job = this.#make(definition, session, call);
    const { host } = request.headers;
    const href = `${host === undefined ? '' : `https://${host}`}${basePath}${jobsPath}/${job.id}`;
    const response = jsonResponse(
      202,
      JSON.stringify({ id: job.id, link: { rel: 'self', href }, warning: cookieNotice }),
    );
    return {
      ...response,
      headers: { ...response.headers, location: href },
      cookies: this.#sessions.cookiesOf(session, names),
      jobId: job.id,
    };
  }

  status(id: string, call: ServiceCall): CallResult {
    const job = this.#find(id, call, 'status');
    if ('refusal' in job) return job;
    const { fault, atMs, settings } = call;
    if (fault?.kind === 'pendingError') job.errors.add(fault.message ?? 'Some of the data could not be searched.');
    if (fault?.kind === 'pendingWarning') job.warnings.add(fault.message ?? 'The search was slower than usual.');
    const state = fault?.kind === 'unknownState' ? fault.state : undefined;
    return jsonResponse(200, renderStatus(job, atMs, settings.search, state));
  }

  messages(id: string, call: ServiceCall): CallResult {
    const job = this.#find(id, call, 'page');
    if ('refusal' in job) return job;
    const asked = readPageParameters(call.query);
    if ('refusal' in asked) return asked;
    const { pages } = call.settings.search;
    const { requiresRawMessages } = job.definition;
    if (job.isAggregation && !requiresRawMessages && pages.messagesOfAggregation === 'refuse') {
      const message = 'The query has an aggregation, and the job was created without requiresRawMessages.';
      return refuseSearch(400, 'raw.messages.not.available', message);
    }
    const rawAnyway = !job.isAggregation && pages.rawOfMessages === 'always';
    const page = job.resultsAt(call.atMs)?.page({
      offset: asked.offset,
      limit: Math.min(asked.limit, pages.maxMessages, maxRowsOf(call)),
      maxBytes: pages.maxBytes,
      withRaw: requiresRawMessages || rawAnyway,
    });
    return jsonResponse(200, messageBody(page ?? nothing));
  }

  records(id: string, call: ServiceCall): CallResult {
    const job = this.#find(id, call, 'page');
    if ('refusal' in job) return job;
    const asked = readPageParameters(call.query);
    if ('refusal' in asked) return asked;
    const results = job.resultsAt(call.atMs);
    if (!results || !job.isAggregation) {
      return refuseSearch(
        400,
        'no.records.not.an.aggregation.query',
        'The query has no aggregation, so it has no records.',
      );
    }
    const { pages } = call.settings.search;
    const isDone = job.stateAt(call.atMs, call.settings.search) === 'DONE GATHERING RESULTS';
    const page = {
      offset: asked.offset,
      limit: Math.min(asked.limit, pages.maxRecords, maxRowsOf(call)),
      isWrong: pages.earlyRecords === 'wrong' && !isDone,
      isScientific: pages.largeFigures === 'scientific',
    };
    return jsonResponse(200, renderRecords(results.table(), page));
  }

  /** Deletes a search job (section 4.5 of docs/service.md). */
  delete(id: string, call: ServiceCall): CallResult {
    const job = this.#find(id, call, 'deletion');
    if ('refusal' in job) return job;
    this.jobs.end(job, 'deleted', call.atMs);
    return jsonResponse(200, JSON.stringify({ id }));
  }

  #make(definition: SearchDefinition, session: number, { key, settings, atMs }: ServiceCall): SimulatedSearchJob {
    const { search, timeScale } = settings;
    this.#memory.maxMb = search.aggregationMb;
    const id = jobIdOf(this.jobs.created, this.#seed);
    const { query, byReceiptTime, fromMs } = definition;
    const range = { fromMs, toMs: definition.toMs + (search.toInclusive ? 1 : 0), byReceiptTime };
    const draw = drawFor(this.#seed, 'search', id);
    const job = new SimulatedSearchJob({
      id,
      user: key.user,
      organisation: key.organisation,
      session,
      definition,
      schedule: scheduleOf({ createdMs: atMs, fromMs, toMs: range.toMs, draw, timeScale }, search),
      createdMs: atMs,
      silenceMs: pickFrom(search.keepAlive, drawFor(this.#seed, 'silence', id)),
      results:
        'broken' in query
          ? undefined
          : new SearchResults({
              query,
              range,
              data: this.#data(),
              messageLimit: search.messageLimit,
              scanLimit: search.scanLimit,
              receivedByMs: search.onlyReceived ? atMs : Number.POSITIVE_INFINITY,
              bucketMs: search.status.bucketMs,
              histogramFirst: search.histogramFirst,
              effort: this.#effort,
              memory: this.#memory,
            }),
    });
    this.jobs.add(job, search.timeoutMs);
    return job;
  }

  /**
   * Finds the search job to which a request refers. The request also keeps the job from being cancelled for lack of
   * requests.
   */
  #find(
    id: string,
    { key, settings, atMs, request, fault }: ServiceCall,
    asking: Asking,
  ): SimulatedSearchJob | Refused {
    const { pages, cookies, lagMs, cancelledForMs } = settings.search;
    const [unknown, lost] = asking === 'page' ? [pages.unknownJob, pages.lostJob] : [404, 404];
    const job = this.jobs.get(id);
    if (!job) return this.jobs.hasBeen(id) ? noJob(lost, id, 'ended') : noJob(unknown, id, 'neverWas');
    if (job.user !== key.user) return noJob(unknown, id, 'otherUser');
    if (atMs - job.createdMs < Math.max(lagMs, fault?.lagMs ?? 0)) return noJob(404, id, 'lag');
    const session = this.#sessions.read(request.headers['cookie'], cookies.names);
    if (cookies.names.length > 0 && session !== job.session) {
      return cookies.missing === 500 ? cookieTrouble : noJob(lost, id, 'cookies');
    }
    if (fault?.kind === 'cancelJob') this.jobs.end(job, 'fault', atMs);
    const { end } = job;
    if (end && (asking !== 'status' || atMs >= end.atMs + cancelledForMs)) return noJob(lost, id, end.why);
    job.heardMs = atMs;
    return job;
  }
}

/** Empty message page, for a search job without results. */
const nothing: FoundMessages = { fields: [], page: { rows: 0, bytes: 0, pieces: () => [] } };

const cookieTrouble: Refused = {
  refusal: { status: 500, code: 'internal.error', message: 'The cookies of the job are missing.', why: 'cookies' },
};

function noJob(status: number, id: string, why: Why): Refused {
  const { refusal } = refuseSearch(
    status,
    'jobid.invalid',
    `There is no search job ${id}, or its cookies are missing.`,
  );
  return { refusal: { ...refusal, why } };
}

function maxRowsOf({ fault }: ServiceCall): number {
  return fault?.kind === 'shortPage' ? (fault.rows ?? 0) : Number.POSITIVE_INFINITY;
}
