/** Reads the environment variables that replace a Secret. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { variables } from '../../account/credential-place.ts';
import { SecretText } from '../../base/secret-text.ts';
import type { CommandContext } from '../context.ts';
import { UsageError } from '../usage-error.ts';

const { 'ca.crt': caFileVariable, ...plainVariables } = variables;

/** Keys of the Secret. Undefined if no variable of the service is set. An empty variable counts as not set. */
export async function secretFromVariables({
  env,
  cwd,
}: Pick<CommandContext, 'env' | 'cwd'>): Promise<ReadonlyMap<string, SecretText> | undefined> {
  const members = new Map<string, SecretText>();
  for (const [member, variable] of Object.entries(plainVariables)) {
    const value = env[variable];
    if (value) members.set(member, new SecretText(value));
  }
  const caFile = env[caFileVariable];
  if (members.size === 0 || !caFile) return members.size === 0 ? undefined : members;
  return members.set('ca.crt', new SecretText(await readAuthority(path.resolve(cwd, caFile))));
}

async function readAuthority(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? String(error);
    throw new UsageError(
      `${caFileVariable} names ${file}, which cannot be read (${reason}): name a file with a CA certificate (PEM)`,
    );
  }
}
