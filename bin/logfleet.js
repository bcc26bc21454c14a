#!/usr/bin/env node
/*
 * Starts logfleet: the bundle `dist/main.js` of a published package, or else the sources of a checkout. The first Node on the PATH may be
 * older than 24, so this file is plain JavaScript for Node 14 and newer.
 *
 * Node 24 runs logfleet in this process. In a checkout, an older Node starts the Node of the checkout (the npm package `node`), forwards
 * signals to it, and ends with its exit status.
 */
import { spawn } from 'child_process';
import { accessSync, constants, existsSync } from 'fs';
import { constants as osConstants } from 'os';
import { fileURLToPath } from 'url';

const neededMajor = 24;
const root = new URL('../', import.meta.url);
const bundle = new URL('dist/main.js', root);
const isPublished = existsSync(bundle);
const main = isPublished ? bundle : new URL('src/main.ts', root);

const checkout = fileURLToPath(root);
if (!isPublished && !existsSync(new URL('node_modules/commander/package.json', root))) {
  refuse(`its packages are not installed: run "npm ci" in ${checkout}`);
} else if (Number(process.versions.node.split('.')[0]) >= neededMajor) {
  import(main.href);
} else {
  const node = ownNode();
  if (node) startWith(node);
  else refuse(`this is Node ${process.versions.node}, and it needs ${neededMajor}: ${nodeAdvice()}`);
}

function refuse(reason) {
  process.stderr.write(`logfleet: ${reason}\n`);
  process.exitCode = 1;
}

/** How to get a new Node. In a checkout, npm can be configured to omit the install script of the package `node`. */
function nodeAdvice() {
  if (isPublished)
    return `install Node ${neededMajor} or newer (https://nodejs.org), or use the archive of logfleet that contains Node`;
  const hasPackage = existsSync(new URL('node_modules/node/package.json', root));
  return `run "${hasPackage ? 'npm rebuild node --ignore-scripts=false' : 'npm ci'}" in ${checkout}, which installs one there`;
}

/** Path of the Node in the checkout: that of the install script, or of the package for this platform. */
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
