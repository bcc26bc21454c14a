/** Runs `logfleet plan` on a folder of manifests, against a simulated service. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Scenario } from '../../../simulator/scenario/scenario.ts';
import { planCommand } from '../../../src/cli/plan/plan.ts';
import { nowhere, type OpenPlace } from '../../../src/cli/plan/plan-place.ts';
import { recordingContext } from '../../support/recording-context.ts';
import { ServiceWorld, serviceOrigin } from '../../support/service-world.ts';
import { settleFiles, VirtualClock } from '../../support/virtual-clock.ts';

export const secret = `
apiVersion: v1
kind: Secret
metadata: {name: log-service, namespace: logging}
stringData: {baseURL: ${serviceOrigin}/api, accessId: simulator, accessKey: simulator-key}
`;

export interface PlanSetting {
  readonly folder: string;
  readonly scenario: Scenario;
  readonly texts?: readonly string[];
  readonly flags?: Partial<Parameters<typeof planCommand>[1]>;
  readonly files?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly open?: OpenPlace;
}

export async function runPlan(setting: PlanSetting) {
  const { folder, scenario, texts = [], flags = {}, files = [folder], env = {}, open } = setting;
  for (const [index, text] of texts.entries()) await writeFile(join(folder, `${index}.yaml`), text);
  const world = new ServiceWorld({ scenario, clock: new VirtualClock(undefined, settleFiles) });
  const { clock, random } = world;
  const context = { ...recordingContext(), cwd: folder, env };
  const dependencies = { open: open ?? (async () => nowhere), connect: world.connect(), clock, random };
  const status = await clock.during(planCommand(files, { output: 'table', ...flags }, context, dependencies));
  const { tasks, jobs } = world.snapshot();
  return { status, stdout: context.stdout.text, stderr: context.stderr.text, tasks, jobs, journal: world.journal };
}
