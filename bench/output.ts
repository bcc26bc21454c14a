/** `npm run bench -- output`: measures how fast logfleet converts message pages to files. */

import { renderSections } from './figures.ts';
import type { EncodeFigures } from './output/encode-case.ts';
import {
  encodingSection,
  levelsSection,
  measureEncoding,
  measureLevels,
  measureProcessors,
  type ProcessorFigures,
  processorsSection,
} from './output/encoding.ts';
import { type Machine, machineLine, thisMachine, wantedParts } from './parts.ts';

export interface OutputBenchOptions {
  readonly quick: boolean;
  readonly json: boolean;
  readonly only?: readonly string[];
}

export interface OutputReport extends Machine {
  readonly encoding?: readonly EncodeFigures[];
  readonly levels?: readonly EncodeFigures[];
  readonly processors?: readonly ProcessorFigures[];
}

const parts = ['encoding', 'levels', 'processors'] as const;

export async function benchOutput({ quick, json, only }: OutputBenchOptions): Promise<void> {
  const wants = wantedParts(parts, only);
  if (!wants) return;
  const report: OutputReport = {
    ...thisMachine(),
    ...(wants('encoding') ? { encoding: await measureEncoding(quick) } : {}),
    ...(wants('levels') ? { levels: await measureLevels(quick) } : {}),
    ...(wants('processors') ? { processors: await measureProcessors(quick) } : {}),
  };
  console.log(json ? JSON.stringify(report, undefined, 2) : render(report));
}

function render({ encoding, levels, processors, ...machine }: OutputReport): string {
  const sections = [
    ...(encoding ? [encodingSection(encoding)] : []),
    ...(levels ? [levelsSection(levels)] : []),
    ...(processors ? [processorsSection(processors)] : []),
  ];
  return `${renderSections(sections)}\n\n${machineLine(machine)}`;
}
