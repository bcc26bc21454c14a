/** Runs the simple export script in a separate process. Usage: `node plain-process.ts '{"baseURL": …}'`. */
import { createWriteStream } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Compression } from '../../src/output/compression.ts';
import { PlainExport } from './plain-export.ts';

export interface PlainOrder {
  readonly baseURL: string;
  readonly accessId: string;
  readonly accessKey: string;
  readonly query: string;
  readonly fromMs: number;
  readonly toMs: number;
  readonly compression: Compression;
  readonly file: string;
}

const pageRows = 10_000;
const pollMs = 1_000;

async function exportPlainly({ baseURL, accessId, accessKey, ...order }: PlainOrder): Promise<void> {
  const headers = {
    authorization: `Basic ${Buffer.from(`${accessId}:${accessKey}`).toString('base64')}`,
    'content-type': 'application/json',
  };
  const jobs = `${baseURL}/v1/search/jobs`;
  const body = JSON.stringify({ query: order.query, from: order.fromMs, to: order.toMs, timeZone: 'UTC' });
  const created = await fetch(jobs, { method: 'POST', headers, body });
  const { id } = (await created.json()) as { id: string };
  let status: { state: string; messageCount: number };
  do {
    await sleep(pollMs);
    status = (await (await fetch(`${jobs}/${id}`, { headers })).json()) as typeof status;
  } while (status.state !== 'DONE GATHERING RESULTS');
  const writer = new PlainExport(createWriteStream(order.file), order.compression);
  for (let offset = 0; offset < status.messageCount; ) {
    const page = await fetch(`${jobs}/${id}/messages?offset=${offset}&limit=${pageRows}`, { headers });
    offset += await writer.page(await page.text());
  }
  await writer.end();
  await fetch(`${jobs}/${id}`, { method: 'DELETE', headers });
}

if (import.meta.main) await exportPlainly(JSON.parse(process.argv[2] ?? '') as PlainOrder);
