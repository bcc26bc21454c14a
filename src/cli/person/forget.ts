/**
 * `logfleet forget`: discards the state of a resource whose manifest was deleted, or deletes a run of a schedule (D4).
 * Runs have no manifests that a user could delete. The operator process carries out the request.
 */
import { type AnyResource, referenceOf } from '../../api/kinds.ts';
import { type Clock, systemClock } from '../../base/clock.ts';
import { failure } from '../../base/errors.ts';
import { shellWord } from '../../base/shell-word.ts';
import { isSurelyFree } from '../../host/directory/process-lock.ts';
import { retentionDays } from '../../host/directory/resource-records.ts';
import { StateDirectory } from '../../host/directory/state-directory.ts';
import { writeForgetRequest } from '../../host/directory/user-requests.ts';
import { type CommandContext, exitStatus } from '../command/context.ts';
import { invocation } from '../command/invocation.ts';
import type { ForgetOptions } from '../command/options.ts';
import { UsageError } from '../command/usage-error.ts';
import { currentUser, openView } from '../resources/directory-access.ts';
import { parseReference } from '../resources/resource-access.ts';

export async function forgetCommand(
  target: string,
  { dir, namespace }: ForgetOptions,
  context: CommandContext,
  clock: Clock = systemClock,
): Promise<number> {
  const { kind, name } = parseReference(target);
  const { directory, view } = await openView(dir, context, clock);
  const isMeant = ({ metadata }: AnyResource) =>
    metadata.name === name && (namespace === undefined || metadata.namespace === namespace);
  const existing = [...view.resources(kind).list()].filter(isMeant);
  if (existing.some(({ metadata }) => metadata.owner === undefined))
    throw failure(
      'wait',
      'cli.nothingToDo',
      `${target} still has a manifest in ${dir}: delete the manifest, then run ${invocation('forget')} again`,
    );
  const retained = view.retained().flatMap(({ resource }) => (resource.kind === kind ? [resource] : []));
  const [one, ...others] = [...existing, ...retained.filter(isMeant)];
  if (!one) {
    const message = `${dir} contains no state of ${target}. State is discarded no later than ${retentionDays} days after the manifest was deleted.`;
    throw failure('wait', 'cli.nothingToDo', message);
  }
  if (others.length > 0)
    throw new UsageError(`several namespaces contain state of ${target}; select one of them with -n NAMESPACE`);
  await writeForgetRequest(directory, kind, one.metadata, { by: currentUser(), atMs: clock.now() });
  const isIdle = await isSurelyFree(new StateDirectory(directory));
  const actor = isIdle
    ? `the next ${invocation('run')} ${shellWord(dir)}`
    : 'the process that is working on the directory';
  const reference = referenceOf(kind, { name });
  const { namespace: ownNamespace, owner } = one.metadata;
  const effect = owner
    ? `deletes this run of ${referenceOf(owner.kind, owner)}. The run's files are kept.`
    : 'discards the state. A new manifest with this name starts without state.';
  context.stdout.write(`${reference} in namespace ${ownNamespace}: ${actor} ${effect}\n`);
  return exitStatus.ok;
}
