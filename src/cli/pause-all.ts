/**
 * `logfleet pause --all` and `logfleet resume --all`: turns the switch of the operator as a whole, and says on stdout what that
 * changed. What is in flight ends by itself: the service cannot cancel it.
 */
import { type CommandContext, exitStatus } from './context.ts';
import { type OpenSwitch, type OperatorSwitch, openSwitch } from './operator-switch.ts';
import type { PauseOptions } from './options.ts';

export async function pauseAllCommand(
  paused: boolean,
  options: PauseOptions,
  context: CommandContext,
  open: OpenSwitch = openSwitch,
): Promise<number> {
  const operator = await open(options, context);
  try {
    const { said, status } = paused ? await pauseAll(operator) : await resumeAll(operator);
    context.stdout.write(`everything ${operator.whose}: ${said}\n`);
    const idle = await operator.idleNote?.();
    if (idle !== undefined) context.stderr.write(`${idle}\n`);
    return status;
  } finally {
    await operator.close();
  }
}

interface Outcome {
  /** Goes on from "everything of …: ". */
  readonly said: string;
  readonly status: number;
}

async function pauseAll(operator: OperatorSwitch): Promise<Outcome> {
  const before = await operator.pausedBy();
  if (before === undefined) await operator.set(true);
  const state = before === undefined ? 'paused' : `was paused already by ${before}`;
  const said = `${state}, nothing new is started; what is in flight ends by itself. To go on: logfleet resume --all${operator.flags}`;
  return { said, status: exitStatus.ok };
}

/** What a manifest says is not undone by a command: Git owns it. Whoever asked has not got what they wanted then. */
async function resumeAll(operator: OperatorSwitch): Promise<Outcome> {
  if ((await operator.pausedBy()) === undefined) return { said: 'was not paused.', status: exitStatus.ok };
  await operator.set(false);
  const still = await operator.pausedBy();
  if (still === undefined) return { said: 'resumed.', status: exitStatus.ok };
  return { said: `still paused by ${still}. Change that to go on.`, status: exitStatus.failed };
}
