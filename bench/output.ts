/** `npm run bench -- output`: speed of converting messages to files, next to the targets. */

import { renderSections } from './figures.ts';
import type { EncodeFigures } from './output/encode-case.ts';
import { encodingSection, measureEncoding } from './output/encoding.ts';
import { type Machine, machineLine, thisMachine } from './parts.ts';

export interface OutputBenchOptions {
  readonly quick: boolean;
  readonly json: boolean;
}

/** Results of the output benchmark, as `--json` prints them. */
export interface OutputReport extends Machine {
  readonly encoding: readonly EncodeFigures[];
}

export async function benchOutput({ quick, json }: OutputBenchOptions): Promise<void> {
  const report: OutputReport = { ...thisMachine(), encoding: await measureEncoding(quick) };
  const text = () => `${renderSections([encodingSection(report.encoding)])}\n\n${machineLine(report)}`;
  console.log(json ? JSON.stringify(report, undefined, 2) : text());
}
