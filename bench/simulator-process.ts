/** Runs `logfleet simulate` in a separate process, so that its CPU time and memory can be measured. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Scenario } from '../simulator/scenario/scenario.ts';
import type { SimulatorAddress } from '../simulator/simulate.ts';

export interface SimulatorProcess extends SimulatorAddress {
  readonly child: ChildProcess;
  readonly pid: number;
  stop(): Promise<void>;
}

export const mainProgram = fileURLToPath(new URL('../src/main.ts', import.meta.url));

/** Starts a simulator that keeps its files in `directory`. */
export async function startSimulator(
  directory: string,
  scenario: Scenario,
  journal?: string,
): Promise<SimulatorProcess> {
  const file = path.join(directory, 'scenario.yaml');
  writeFileSync(file, JSON.stringify(scenario));
  const args = ['simulate', '--scenario', file, '--tls-dir', directory];
  if (journal !== undefined) args.push('--journal', journal);
  const child = spawn(process.execPath, [mainProgram, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  return {
    ...(JSON.parse(line as string) as SimulatorAddress),
    child,
    pid: child.pid as number,
    stop: () => ended(child),
  };
}

export async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill('SIGTERM');
  await exit;
}
