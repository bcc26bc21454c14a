/** `npm run bench -- export`: measures requests, CPU time and memory of exports. */
import { type CommandFigures, commandSection, measureCommand } from './export/command.ts';
import type { FileRunFigures } from './export/file-runs.ts';
import {
  comparedSection,
  compareFiles,
  type LargeFigures,
  largeSections,
  measureLarge,
  measurePartitions,
  type PartitionFigures,
  partitionsSection,
} from './export/files.ts';
import { measureProcessors, type ProcessorsPair, processorsSection } from './export/processors.ts';
import { type ExportRequestFigures, exportRequestsSection, measureExportRequests } from './export/requests.ts';
import { measureWorkers, type WorkersFigures, workersSection } from './export/workers.ts';
import { type FigureSection, renderSections } from './figures.ts';
import { type Machine, machineLine, thisMachine, wantedParts } from './parts.ts';

export interface ExportBenchOptions {
  readonly quick: boolean;
  readonly json: boolean;
  readonly only?: readonly string[];
}

export interface ExportReport extends Machine {
  readonly requests?: readonly ExportRequestFigures[];
  readonly compared?: readonly FileRunFigures[];
  readonly partitions?: PartitionFigures;
  readonly large?: LargeFigures;
  readonly processors?: readonly ProcessorsPair[];
  readonly command?: readonly CommandFigures[];
  readonly workers?: readonly WorkersFigures[];
}

const parts = ['requests', 'compared', 'partitions', 'large', 'processors', 'command', 'workers'] as const;

export async function benchExport({ quick, json, only }: ExportBenchOptions): Promise<void> {
  const wants = wantedParts(parts, only);
  if (!wants) return;
  const report: ExportReport = {
    ...thisMachine(),
    ...(wants('requests') ? { requests: await measureExportRequests() } : {}),
    ...(wants('compared') ? { compared: await compareFiles(quick) } : {}),
    ...(wants('partitions') ? { partitions: await measurePartitions(quick) } : {}),
    ...(wants('large') ? { large: await measureLarge(quick) } : {}),
    ...(wants('processors') ? { processors: await measureProcessors(quick) } : {}),
    ...(wants('command') ? { command: await measureCommand(quick) } : {}),
    ...(wants('workers') ? { workers: await measureWorkers(quick) } : {}),
  };
  console.log(json ? JSON.stringify(report, undefined, 2) : render(report));
}

function render({
  requests,
  compared,
  partitions,
  large,
  processors,
  command,
  workers,
  ...machine
}: ExportReport): string {
  const sections: FigureSection[] = [];
  if (requests) sections.push(exportRequestsSection(requests));
  if (compared) sections.push(comparedSection(compared));
  if (partitions) sections.push(partitionsSection(partitions));
  if (large) sections.push(...largeSections(large));
  if (processors) sections.push(processorsSection(processors));
  if (command) sections.push(commandSection(command));
  if (workers) sections.push(workersSection(workers));
  return `${renderSections(sections)}\n\n${machineLine(machine)}`;
}
