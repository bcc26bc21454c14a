/** Fake searches for an export's intervals. A test decides when and how each search ends. */
import type { CommitRecord } from '../../src/destination/commit-record.ts';
import type {
  JobView,
  OpenedJob,
  SearchOrder,
  SearchResult,
  SearchTools,
} from '../../src/export/search/search-tools.ts';
import type { Search } from '../../src/export/work/running-searches.ts';

export class ScriptedSearch implements Search {
  readonly segment: number;
  readonly fromMs: number;
  readonly toMs: number;
  readonly tools: SearchTools;
  readonly opened: OpenedJob | undefined;
  readonly done: Promise<SearchResult>;
  readonly begunAtMs = 0;
  createdAtMs: number | undefined = 0;
  isSearching = true;
  messageCount = 0;
  scannedBytes = 0;
  jobs: readonly JobView[] = [];
  isEndedAsCut = false;
  readonly #done = Promise.withResolvers<SearchResult>();

  constructor({ segment, fromMs, toMs }: SearchOrder, tools: SearchTools, opened?: OpenedJob) {
    this.segment = segment;
    this.fromMs = fromMs;
    this.toMs = toMs;
    this.tools = tools;
    this.opened = opened;
    this.done = this.#done.promise;
  }

  get order(): SearchOrder {
    const { segment, fromMs, toMs } = this;
    return { segment, fromMs, toMs };
  }

  get failedBefore(): number {
    return this.tools.failedBefore(this.order);
  }

  histogram() {
    return undefined;
  }

  end(result: SearchResult): void {
    this.#done.resolve(result);
  }

  stop(): void {
    this.end({ kind: 'stopped' });
  }

  endAsCut(): void {
    this.isEndedAsCut = true;
  }
}

export function emptyRecord({ segment, fromMs, toMs }: SearchOrder): CommitRecord {
  const none = { received: 0, written: 0, outside: 0, duplicates: 0, left: 0 };
  return { segment, fromMs, toMs, ...none, count: { rows: 0, source: 'Job' }, files: [] };
}
