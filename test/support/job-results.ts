/** Reads all results of a finished search job, page by page. Resolves to the index after the last result. */
import type { MessageReading, RecordReading, SearchJob } from '../../src/service/jobs/search-job.ts';

export async function readAllMessages(job: SearchJob, reading: Omit<MessageReading, 'offset'>): Promise<number> {
  let offset = 0;
  while (offset < job.progress.messageCount) offset = await job.readMessagePage({ ...reading, offset });
  return offset;
}

export async function readAllRecords(job: SearchJob, take: RecordReading['take']): Promise<number> {
  let offset = 0;
  while (offset < (job.progress.recordCount ?? 0)) offset = await job.readRecordPage({ offset, take });
  return offset;
}
