/**
 * `logfleet pause` and `logfleet resume`, for one resource or, with `--all`, for the whole operator. Upgrades in flight
 * continue, because the log service cannot cancel them.
 */
import { annotations } from '../../api/annotations.ts';
import { reasons } from '../../api/conditions.ts';
import type { AnyResource } from '../../api/kinds.ts';
import { systemClock } from '../../base/clock.ts';
import { writeSettingsRequest } from '../../host/directory/user-requests.ts';
import { type CommandContext, exitStatus } from '../command/context.ts';
import { invocation } from '../command/invocation.ts';
import type { PauseOptions, TargetOptions } from '../command/options.ts';
import { conditionOf } from '../render/condition-lines.ts';
import { isComplete, isPausedByAnnotation, renderTargetFlags, resumeStep } from '../render/next-steps.ts';
import { currentUser, idleNoteOf, openView } from '../resources/directory-access.ts';
import type { ResourceReader } from '../resources/resource-reader.ts';
import type { OperatorSwitch } from './cluster-switch.ts';
import { nothingToDo, type PersonCommand, personCommand, renderInFlight } from './person-action.ts';

const pauseOne = personCommand((resource, options) => {
  if (isComplete(resource)) throw nothingToDo(resource, 'it is already complete');
  const already = isPausedByAnnotation(resource);
  const annotation = already ? undefined : { name: annotations.paused, value: 'true' };
  return { annotation, report: renderPause(resource, already, options) };
});

const resumeOne = personCommand((resource, options, reader) => {
  const already = !isPausedByAnnotation(resource);
  const annotation = already ? undefined : { name: annotations.paused, value: undefined };
  const everything = pauseOfAll(resource, reader);
  const isIneffective = resource.spec.paused || everything !== undefined;
  return { annotation, report: renderResumption(resource, already, everything, options), isIneffective };
});

/** Pauses the resource `target`. Without `target`, pauses the whole operator. */
export const pauseCommand: PersonCommand<PauseOptions, string | undefined> = (target, options, context, ...ports) =>
  target === undefined ? pauseAllCommand(true, options, context) : pauseOne(target, options, context, ...ports);

/** Resumes the resource `target`. Without `target`, resumes the whole operator. */
export const resumeCommand: typeof pauseCommand = (target, options, context, ...ports) =>
  target === undefined ? pauseAllCommand(false, options, context) : resumeOne(target, options, context, ...ports);

function renderPause(resource: AnyResource, already: boolean, options: TargetOptions): string {
  const { metadata } = resource;
  const paused = {
    ...resource,
    metadata: { ...metadata, annotations: { ...metadata.annotations, [annotations.paused]: 'true' } },
  };
  const state = already ? 'was already paused' : 'paused';
  return `${state}${renderInFlight(resource)}. To resume: ${resumeStep(paused, options)}`;
}

function renderResumption(
  { spec }: AnyResource,
  already: boolean,
  everything: string | undefined,
  { namespace: _, ...where }: TargetOptions,
): string {
  const done = already ? 'was not paused by annotation' : 'resumed';
  if (spec.paused)
    return `${done}, but spec.paused in the manifest still pauses the resource. To resume: remove 'paused: true' from the manifest`;
  if (everything === undefined) return `${done}.`;
  return `${done}, but the whole operator is paused: ${everything} To resume: ${invocation('resume --all')}${renderTargetFlags(where)}`;
}

/**
 * If the whole operator is paused, returns a sentence with the cause of the pause. Returns undefined if the operator is
 * not paused, or if its state is unknown.
 */
function pauseOfAll(resource: AnyResource, reader: ResourceReader): string | undefined {
  if (reader.pauseOfAll) {
    const { pausedBy } = reader.pauseOfAll();
    return pausedBy === undefined ? undefined : `Paused by ${pausedBy}.`;
  }
  const isOwn = resource.spec.paused || isPausedByAnnotation(resource);
  const ready = conditionOf(resource.status, 'Ready');
  return !isOwn && ready?.reason === reasons.paused ? ready.message : undefined;
}

export async function pauseAllCommand(
  paused: boolean,
  options: PauseOptions,
  context: CommandContext,
  open: OpenSwitch = openSwitch,
): Promise<number> {
  const operator = await open(options, context);
  try {
    const { report, status } = paused ? await pauseAll(operator) : await resumeAll(operator);
    context.stdout.write(`everything ${operator.scope}: ${report}\n`);
    const idle = await operator.idleNote();
    if (idle !== undefined) context.stderr.write(`${idle}\n`);
    return status;
  } finally {
    await operator.close();
  }
}

interface SwitchResult {
  /** Result of the command, printed after a prefix such as "everything in ./policies: ". */
  readonly report: string;
  readonly status: number;
}

async function pauseAll(operator: OperatorSwitch): Promise<SwitchResult> {
  const before = await operator.pausedBy();
  if (before === undefined) await operator.set(true);
  const state = before === undefined ? 'paused' : `was already paused by ${before}`;
  const report = `${state}; upgrades and searches in flight run to completion. To resume: ${invocation('resume --all')}${operator.flags}`;
  return { report, status: exitStatus.ok };
}

/** Resumes the whole operator. Fails if a manifest pauses it, because the command changes no manifests. */
async function resumeAll(operator: OperatorSwitch): Promise<SwitchResult> {
  if ((await operator.pausedBy()) === undefined) return { report: 'was not paused.', status: exitStatus.ok };
  await operator.set(false);
  const still = await operator.pausedBy();
  if (still === undefined) return { report: 'resumed.', status: exitStatus.ok };
  return { report: `still paused by ${still}. To resume, change the manifest.`, status: exitStatus.failed };
}

type OpenSwitch = (options: PauseOptions, context: CommandContext) => Promise<OperatorSwitch>;

const openSwitch: OpenSwitch = async (options, context) => {
  if (options.dir !== undefined) {
    return openDirectorySwitch(options.dir, context);
  }
  const { openClusterSwitch } = await import('./cluster-switch.ts');
  return openClusterSwitch(options, context);
};

async function openDirectorySwitch(dir: string, context: CommandContext): Promise<OperatorSwitch> {
  const { directory, view } = await openView(dir, context);
  return {
    scope: `in ${dir}`,
    flags: renderTargetFlags({ dir }),
    pausedBy: async () => {
      await view.refresh();
      return view.settings().pausedBy;
    },
    set: (paused) => writeSettingsRequest(directory, paused, { by: currentUser(), atMs: systemClock.now() }),
    idleNote: () => idleNoteOf(dir, directory, view),
    close: async () => {},
  };
}
