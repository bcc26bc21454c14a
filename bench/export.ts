/** `npm run bench -- export`: what exports cost in requests, in processor time and in memory, beside what was promised. */
import { availableParallelism, cpus, loadavg } from 'node:os';
import { type FileFigures, fileSections, measureFiles } from './export/files.ts';
import { type ExportRequestFigures, exportRequestsSection, measureExportRequests } from './export/requests.ts';
import { renderSections, type Section } from './rollout/figures.ts';

export interface ExportBenchOptions {
  readonly quick: boolean;
  readonly json: boolean;
  readonly only?: readonly string[];
}

/** What was measured, as `--json` prints it. A part that was not asked for is absent. */
export interface ExportReport {
  readonly machine: string;
  /** How many processes wanted a processor in the minute before: with more of them than processors, times say little. */
  readonly loadBefore: number;
  readonly requests?: readonly ExportRequestFigures[];
  readonly files?: FileFigures;
}

const parts = ['requests', 'files'] as const;
type Part = (typeof parts)[number];

export async function benchExport({ quick, json, only }: ExportBenchOptions): Promise<void> {
  const unknown = only?.filter((part) => !parts.some((known) => known === part)) ?? [];
  if (unknown.length > 0) {
    console.error(`--only takes ${parts.join(', ')}, and not ${unknown.join(', ')}`);
    process.exitCode = 2;
    return;
  }
  const wants = (part: Part) => only?.includes(part) ?? true;
  const report: ExportReport = {
    machine: `${availableParallelism()} x ${cpus()[0]?.model.trim()}, Node ${process.version}`,
    loadBefore: loadavg()[0] ?? Number.NaN,
    ...(wants('requests') ? { requests: await measureExportRequests() } : {}),
    ...(wants('files') ? { files: await measureFiles(quick) } : {}),
  };
  console.log(json ? JSON.stringify(report, undefined, 2) : render(report));
}

function render({ machine, loadBefore, requests, files }: ExportReport): string {
  const sections: Section[] = [];
  if (requests) sections.push(exportRequestsSection(requests));
  if (files) sections.push(...fileSections(files));
  return `${renderSections(sections)}\n\n${machine}, load before ${loadBefore.toFixed(1)}`;
}
