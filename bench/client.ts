/**
 * `npm run bench -- client`: measures how fast the operator's client reads search results, and how much memory the
 * simulator needs.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type JobsAliveFigures, jobsAliveSection, keepJobsAlive } from './client/jobs-alive.ts';
import type { ScanFigures } from './client/page-scan.ts';
import { measureScanner, scannerSection } from './client/scanner.ts';
import { measureSearchRequests, type SearchRequestFigures, searchRequestsSection } from './client/search-requests.ts';
import { measureTransfer, type TransferResult, transferSection } from './client/transfer.ts';
import { type FigureSection, renderSections } from './figures.ts';
import { type Machine, machineLine, thisMachine, wantedParts } from './parts.ts';
import { measureOpenJobs, type OpenJobsFigures, openJobsSection } from './simulator/open-jobs.ts';

export interface ClientBenchOptions {
  readonly quick: boolean;
  readonly json: boolean;
  readonly only?: readonly string[];
}

/** Results of the client benchmark. A measurement that the user did not request has no results. */
export interface ClientReport extends Machine {
  readonly scanner?: readonly ScanFigures[];
  readonly transfer?: readonly TransferResult[];
  readonly requests?: SearchRequestFigures;
  readonly alive?: JobsAliveFigures;
  readonly memory?: OpenJobsFigures;
}

const parts = ['scanner', 'transfer', 'requests', 'alive', 'memory'] as const;

export async function benchClient({ quick, json, only }: ClientBenchOptions): Promise<void> {
  const wants = wantedParts(parts, only);
  if (!wants) return;
  const report: ClientReport = {
    ...thisMachine(),
    ...(wants('scanner') ? { scanner: await measureScanner(quick) } : {}),
    ...(wants('transfer') ? { transfer: await measureTransfer(quick) } : {}),
    ...(wants('requests') ? { requests: await measureSearchRequests() } : {}),
    ...(wants('alive') ? { alive: await keepJobsAlive() } : {}),
    ...(wants('memory') ? { memory: await measureMemory() } : {}),
  };
  console.log(json ? JSON.stringify(report, undefined, 2) : render(report));
}

async function measureMemory(): Promise<OpenJobsFigures> {
  const directory = mkdtempSync(path.join(tmpdir(), 'logfleet-bench-'));
  try {
    return await measureOpenJobs(directory);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

function render({ scanner, transfer, requests, alive, memory, ...machine }: ClientReport): string {
  const sections: FigureSection[] = [];
  if (scanner) sections.push(scannerSection(scanner));
  if (transfer) sections.push(transferSection(transfer));
  if (requests) sections.push(searchRequestsSection(requests));
  if (alive) sections.push(jobsAliveSection(alive));
  if (memory) sections.push(openJobsSection(memory));
  return `${renderSections(sections)}\n\n${machineLine(machine)}`;
}
