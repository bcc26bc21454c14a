/** The search API of the simulated service. */

import type { Timeline } from '../base/timeline.ts';
import type { Effort } from '../log-data/effort.ts';
import type { LogData } from '../log-data/log-data.ts';
import type { Api, Methods, PreparedCall } from '../requests/call.ts';
import type { Settings } from '../scenario/settings.ts';
import { readBody } from './search-definition.ts';
import { jobsPath, SearchOperations } from './search-operations.ts';

export class SearchApi implements Api {
  readonly #operations: SearchOperations;

  constructor({ seed }: Settings, timeline: Timeline, data: () => LogData, effort: Effort) {
    this.#operations = new SearchOperations(timeline, seed, data, effort);
  }

  get jobs(): SearchOperations['jobs'] {
    return this.#operations.jobs;
  }

  get refusedForJobs(): number {
    return this.#operations.refusedForJobs;
  }

  methodsAt(path: string): Methods | undefined {
    const operations = this.#operations;
    if (path === jobsPath) return { POST: ({ body }) => this.#prepareCreation(body) };
    const [id = '', part, ...rest] = path.startsWith(`${jobsPath}/`) ? path.slice(jobsPath.length + 1).split('/') : [];
    if (id === '' || rest.length > 0) return undefined;
    const asked = { searchText: this.jobs.get(id)?.definition.text, jobId: id };
    switch (part) {
      case undefined:
        return {
          GET: () => ({ operation: 'getJob', ...asked, act: (call) => operations.status(id, call) }),
          DELETE: () => ({ operation: 'deleteJob', ...asked, act: (call) => operations.delete(id, call) }),
        };
      case 'messages':
        return { GET: () => ({ operation: 'listMessages', ...asked, act: (call) => operations.messages(id, call) }) };
      case 'records':
        return { GET: () => ({ operation: 'listRecords', ...asked, act: (call) => operations.records(id, call) }) };
      default:
        return undefined;
    }
  }

  #prepareCreation(text: string): PreparedCall {
    const body = readBody(text);
    const query = body?.['query'];
    return {
      operation: 'createJob',
      searchText: typeof query === 'string' ? query : undefined,
      act: (call) => this.#operations.create(body, call),
    };
  }
}
