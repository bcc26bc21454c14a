/**
 * `logfleet ui`: shows resources in a browser on the same machine. It needs only the permissions `list` and `watch`.
 */
import { type AnyResource, kindNames } from '../../api/kinds.ts';
import { aborted } from '../../base/aborted.ts';
import { type Clock, systemClock } from '../../base/clock.ts';
import { type CommandContext, exitStatus } from '../command/context.ts';
import type { UiOptions } from '../command/options.ts';
import { type OpenResources, openResources } from '../resources/resource-access.ts';
import { combineTroubles, type ResourceReader, repeatIdleCheck } from '../resources/resource-reader.ts';
import type { PlaceMessage } from './page-data.ts';
import { pageHtml } from './page-html.ts';
import { PageServer } from './page-server.ts';
import { ResourceModel } from './resource-model.ts';

interface UiDependencies {
  readonly open: OpenResources;
  readonly clock: Clock;
  readonly html: typeof pageHtml;
}

export async function uiCommand(
  options: UiOptions,
  context: CommandContext,
  { open, clock, html }: UiDependencies = { open: openResources, clock: systemClock, html: pageHtml },
): Promise<number> {
  const reader = await open(options, context);
  const namespace = options.allNamespaces ? undefined : (options.namespace ?? reader.defaultNamespace);
  const { port = 0, allNamespaces: _, ...given } = options;
  // The commands that users copy from the page name the context, because the current context of the kubeconfig can
  // change.
  const flags = { ...given, ...(reader.context !== undefined && { context: reader.context }) };
  const model = new ResourceModel();
  const place = { place: reader.place, ...(namespace !== undefined && { namespace }) };
  const server = new PageServer({ port, html: await html(), model, flags, clock }, { ...place, warnings: [] });
  const stop = new AbortController();
  const signal = AbortSignal.any([context.signal, stop.signal]);
  try {
    const following = followAll(reader, namespace, model, server, place, clock, signal);
    await Promise.race([following, model.whenComplete(), aborted(signal)]);
    if (!signal.aborted) {
      context.stdout.write(`${await server.listen()}\n`);
      context.stderr.write('Open this address in a browser on this machine. To stop: Ctrl-C\n');
    }
    await following;
    return exitStatus.ok;
  } finally {
    stop.abort();
    await server.close();
    await reader.close();
  }
}

/** Updates the data in memory and the open pages until the signal is aborted. */
async function followAll(
  reader: ResourceReader,
  namespace: string | undefined,
  model: ResourceModel,
  server: PageServer,
  place: Omit<PlaceMessage, 'warnings'>,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  let trouble: string | undefined;
  let idle: string | undefined;
  const show = () => {
    const outdated = trouble && `The page may be out of date, because changes cannot be read: ${trouble}`;
    server.showPlace({ ...place, warnings: [outdated, idle].filter((warning) => warning !== undefined) });
  };
  const checkIdle = async () => {
    const note = await reader.idleNote();
    if (note === idle) return;
    idle = note;
    show();
  };
  const onTrouble = combineTroubles((message) => {
    if (message === trouble) return;
    trouble = message;
    show();
  });
  if (reader.isDirectory) await checkIdle();
  await Promise.all([
    ...(reader.isDirectory ? [repeatIdleCheck(checkIdle, clock, signal)] : []),
    ...kindNames.map((kind) => {
      const onChange = (resources: readonly AnyResource[]) => model.replace(kind, resources);
      return reader.follow(kind, namespace, onChange, signal, (message) => onTrouble(kind, message));
    }),
  ]);
}
