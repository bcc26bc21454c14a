/** `npm run bench -- output`: how fast messages become the bytes of files, beside what was promised. */
import { availableParallelism, cpus } from 'node:os';
import type { EncodeFigures } from './output/encode-case.ts';
import { encodingSection, measureEncoding } from './output/encoding.ts';
import { renderSections } from './rollout/figures.ts';

export interface OutputBenchOptions {
  readonly quick: boolean;
  readonly json: boolean;
}

/** What was measured, as `--json` prints it. */
export interface OutputReport {
  readonly machine: string;
  readonly encoding: readonly EncodeFigures[];
}

export async function benchOutput({ quick, json }: OutputBenchOptions): Promise<void> {
  const machine = `${availableParallelism()} x ${cpus()[0]?.model.trim()}, Node ${process.version}`;
  const report: OutputReport = { machine, encoding: await measureEncoding(quick) };
  const text = () => `${renderSections([encodingSection(report.encoding)])}\n\n${machine}`;
  console.log(json ? JSON.stringify(report, undefined, 2) : text());
}
