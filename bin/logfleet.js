#!/usr/bin/env node
/*
 * Starts logfleet with a Node that can run it. logfleet is TypeScript that Node 24 runs as it stands; whoever calls this may
 * have an older one first on the PATH, so this file is plain JavaScript for any Node from 14 on.
 *
 * A Node 24 goes on in this very process. An older one starts the checkout's own (the npm package `node`), passes signals on
 * to it, and ends as it ends.
 */
import { spawn } from 'child_process';
import { accessSync, constants, existsSync } from 'fs';
import { constants as osConstants } from 'os';
import { fileURLToPath } from 'url';

const neededMajor = 24;
const root = new URL('../', import.meta.url);
const main = new URL('src/main.ts', root);

const checkout = fileURLToPath(root);
if (!existsSync(new URL('node_modules/commander/package.json', root))) {
  refuse(`its packages are not installed: run "npm ci" in ${checkout}`);
} else if (Number(process.versions.node.split('.')[0]) >= neededMajor) {
  import(main.href);
} else {
  const node = ownNode();
  if (node) startWith(node);
  else refuse(`this is Node ${process.versions.node}, and it needs ${neededMajor}: ${wayToNode()}`);
}

function refuse(reason) {
  process.stderr.write(`logfleet: ${reason}\n`);
  process.exitCode = 1;
}

/** How the checkout comes to a Node of its own. Its package needs its install script, which npm may have been told to leave. */
function wayToNode() {
  const hasPackage = existsSync(new URL('node_modules/node/package.json', root));
  return `run "${hasPackage ? 'npm rebuild node --ignore-scripts=false' : 'npm ci'}" in ${checkout}, which installs one there`;
}

/** The checkout's own Node, also where npm was told to run no install scripts but has the platform's package. */
function ownNode() {
  const system = process.platform === 'win32' ? 'win' : process.platform;
  const platformPackage = `node-${system}-${process.arch}`;
  const program = process.platform === 'win32' ? 'bin/node.exe' : 'bin/node';
  const places = ['node', `node/node_modules/${platformPackage}`, platformPackage];
  return places.map((place) => fileURLToPath(new URL(`node_modules/${place}/${program}`, root))).find(isExecutable);
}

function isExecutable(file) {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch (_) {
    return false;
  }
}

function startWith(node) {
  const child = spawn(node, [fileURLToPath(main), ...process.argv.slice(2)], { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR2']) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => refuse(`${node} does not start: ${error.message}`));
  child.on('exit', (code, signal) => {
    process.exitCode = signal ? 128 + osConstants.signals[signal] : code;
  });
}
