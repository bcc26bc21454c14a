/**
 * Provides a headless Chromium for the tests of `logfleet ui`, from `LOGFLEET_CHROMIUM`, an installed browser, or
 * Debian's package.
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { startStep } from './progress.ts';

/**
 * Names of the browser's program, in order of preference. The first program has no user interface, which halves the CPU
 * time of the tests.
 */
const names = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome', 'chrome'];
const debianPackage = 'chromium-headless-shell';

/** Installs Chromium if it is missing, and returns its absolute path. Error messages say what to do. */
export async function chromiumProgram(env: NodeJS.ProcessEnv = process.env): Promise<string> {
  const given = env['LOGFLEET_CHROMIUM'];
  if (given && existsSync(given)) return given;
  if (given)
    throw new Error(
      `LOGFLEET_CHROMIUM names ${given}, which cannot be found. Set it to the path of a Chromium program, or unset it.`,
    );
  if (installedProgram(env) === undefined) await installPackage(env);
  const found = installedProgram(env);
  if (found === undefined)
    throw new Error(nowhereToBeHad(`the package ${debianPackage} does not contain a program of this name`));
  return found;
}

function installedProgram(env: NodeJS.ProcessEnv): string | undefined {
  const folders = (env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  return folders.flatMap((folder) => names.map((name) => join(folder, name))).find((path) => existsSync(path));
}

async function installPackage(env: NodeJS.ProcessEnv): Promise<void> {
  if (process.getuid?.() !== 0) throw new Error(nowhereToBeHad('only root can install packages'));
  const step = startStep('installing Chromium with apt-get (300 MB, only once on this machine)');
  try {
    const quiet = { env: { ...env, DEBIAN_FRONTEND: 'noninteractive' } };
    await promisify(execFile)('apt-get', ['update'], quiet);
    await promisify(execFile)('apt-get', ['install', '--yes', '--no-install-recommends', debianPackage], quiet);
    step.end('done');
  } catch (cause) {
    throw new Error(nowhereToBeHad((cause as Error).message), { cause });
  } finally {
    step.end();
  }
}

function nowhereToBeHad(reason: string): string {
  return (
    `The tests of logfleet ui need Chromium, which cannot be installed (${reason}). Install it, on Debian with "apt-get install ` +
    `${debianPackage}" as root, or set LOGFLEET_CHROMIUM to the path of a Chromium program. Then run this command again.`
  );
}
