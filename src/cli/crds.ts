/** `logfleet crds`: prints the CustomResourceDefinitions in `crds/`, for `kubectl apply -f -`. */
import { readdirSync, readFileSync } from 'node:fs';
import { type CommandContext, exitStatus } from './context.ts';

const directory = new URL('../../crds/', import.meta.url);

export async function crdsCommand(context: CommandContext): Promise<number> {
  const files = readdirSync(directory).filter((name) => name.endsWith('.yaml'));
  const texts = files.sort().map((name) => readFileSync(new URL(name, directory), 'utf8'));
  context.stdout.write(texts.join('---\n'));
  return exitStatus.ok;
}
