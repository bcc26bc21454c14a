/** Renders plans as Markdown for comments on pull requests. Each resource with changes gets a table. */
import { type PlacedFinding, renderFinding } from '../../api/finding.ts';
import { keyText } from '../../base/key-text.ts';
import type { Fact } from '../render/table.ts';
import { printable, renderCount } from '../render/text.ts';
import type { ExportOutlook } from './export-planner.ts';
import { type AllPlans, hasUpgrades } from './plan-document.ts';
import { factsOf, leftOutByReason, type Plan, stageCells, titleOf, upgradesByStage } from './plan-view.ts';
import type { Outlook } from './planner.ts';
import { scheduleFacts, scheduleTitle } from './schedule-plan-view.ts';
import { hasRunsLeft, hindrancesOf, type ScheduleOutlook } from './schedule-planner.ts';

/** First line of the output. A later CI run uses this line to find and replace the comment of an earlier run. */
const planMarker = '<!-- logfleet plan -->';

/** Renders all plans as a Markdown document, with warnings about their manifests. */
export function renderPlanMarkdown(
  { outlooks, exports, schedules }: AllPlans,
  warnings: readonly PlacedFinding[],
): string {
  const sections: readonly Section[] = [
    ...outlooks.map((outlook) => sectionOf('Policy', outlook)),
    ...exports.map((outlook) => sectionOf('Export', outlook)),
    ...schedules.map(scheduleSection),
  ];
  const changed = sections.filter(({ hasContent }) => hasContent);
  const others = sections.filter(({ hasContent }) => !hasContent).map(({ name }) => code(name));
  const blocks = [
    `${planMarker}\n### Plan of logfleet: ${describeChanges(changed.length)}`,
    ...changed.flatMap(({ title, blocks: ofSection }) => [`#### ${title}`, ...ofSection]),
    ...(others.length > 0 ? [`Nothing to do: ${others.join(', ')}`] : []),
    ...renderFindings('warning', warnings),
  ];
  return joinBlocks(blocks);
}

/** Renders the problems in manifests that cannot be planned. */
export function renderInvalidMarkdown(findings: readonly PlacedFinding[]): string {
  return joinBlocks([
    `${planMarker}\n### Plan of logfleet: no plan, because the manifests have errors`,
    ...renderFindings('error', findings),
    ...renderFindings('warning', findings),
  ]);
}

function renderFindings(wanted: PlacedFinding['severity'], findings: readonly PlacedFinding[]): readonly string[] {
  const found = findings.filter(({ severity }) => severity === wanted);
  const title = wanted === 'error' ? '#### Errors' : '#### Warnings';
  return found.length > 0 ? [title, renderList(found.map(renderFinding))] : [];
}

function joinBlocks(blocks: readonly string[]): string {
  return blocks.map((block) => `${block}\n`).join('\n');
}

function describeChanges(count: number): string {
  return count === 0 ? 'nothing to do' : `${renderCount(count, 'resource')} with changes or problems`;
}

interface Section {
  readonly name: string;
  /** Heading of the section, as Markdown. */
  readonly title: string;
  /** Paragraphs and tables, as Markdown. */
  readonly blocks: readonly string[];
  /** True if the plan has changes or a problem. */
  readonly hasContent: boolean;
}

function sectionOf(kind: string, outlook: Outlook | ExportOutlook): Section {
  const name = keyText(outlook.resource.metadata);
  if (outlook.kind === 'problem') {
    const blocks = [renderProblem(outlook)];
    return { name, title: `${kind} ${code(name)}: no plan`, blocks, hasContent: true };
  }
  const title = `${kind} ${code(name)}${escapeMarkdown(titleOf(outlook))}`;
  return { name, title, blocks: blocksOf(outlook), hasContent: isNoteworthy(outlook) };
}

/** Returns true if a plan contains changes, or reasons why changes are not possible. */
function isNoteworthy(outlook: Plan): boolean {
  if (outlook.kind === 'plan') return hasUpgrades(outlook) || outlook.plan.hindrances.length > 0;
  return outlook.kind !== 'complete';
}

function blocksOf(outlook: Plan): readonly string[] {
  if (outlook.kind === 'waiting') return [escapeMarkdown(outlook.message)];
  const facts = factsOf(outlook);
  if (outlook.kind !== 'plan') return facts.length === 0 ? [] : [renderFacts(facts)];
  const { plan } = outlook;
  const stages = stageCells(plan);
  return [
    renderFacts(facts),
    ...(stages ? [renderTable(stages.headings, stages.rows)] : []),
    ...renderDetails('To upgrade', upgradesByStage(plan)),
    ...renderDetails('Left out', leftOutByReason(plan)),
  ];
}

function scheduleSection(planned: ScheduleOutlook): Section {
  const { outlook, resource } = planned;
  const name = keyText(resource.metadata);
  const isProblem = outlook?.kind === 'problem';
  return {
    name,
    title: `Schedule ${code(name)}: ${escapeMarkdown(scheduleTitle(planned))}`,
    blocks: [...(isProblem ? [renderProblem(outlook)] : []), renderFacts(scheduleFacts(planned, {}))],
    hasContent: hasRunsLeft(planned) || isProblem || hindrancesOf(planned).length > 0,
  };
}

function renderProblem({ reason, message }: { readonly reason: string; readonly message: string }): string {
  return `**${escapeMarkdown(reason)}**: ${escapeMarkdown(message)}`;
}

function renderFacts(facts: readonly Fact[]): string {
  const rows = facts.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
  return renderTable(['Figure', 'Value'], rows);
}

function renderTable(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map(escapeMarkdown).join(' | ')} |`;
  return [line(headings), `|${' --- |'.repeat(headings.length)}`, ...rows.map(line)].join('\n');
}

/** Renders a list that readers can expand. */
function renderDetails(title: string, items: readonly string[]): readonly string[] {
  if (items.length === 0) return [];
  return [`<details><summary>${title}</summary>\n\n${renderList(items)}\n\n</details>`];
}

function renderList(items: readonly string[]): string {
  return items.map((item) => `- ${escapeMarkdown(item)}`).join('\n');
}

/** Renders a resource's name as code. */
function code(name: string): string {
  return `\`${name}\``;
}

const formatting = /[\\`*_{}[\]<>|~]/g;
/** Matches the position before a character, such as `#`, that would turn the text into a Markdown heading or list. */
const leadingSign = /(?<=^\s*)(?=[-+#])|(?<=^\s*\d+)(?=[.)](?:\s|$))/;
/**
 * Matches the position after a character, such as `@` or `#`, that begins a mention or a reference on GitHub or GitLab,
 * or that is part of an email address.
 */
const mentions = /(?<=[@#!$%&])(?=[\w-])/g;
/**
 * Matches positions inside `www.`, `://` and issue numbers such as `GH-1`. A zero-width space at such a position
 * prevents a link on GitHub.
 */
const links = /(?<=www)(?=\.)|(?<=:)(?=\/\/)|(?<=\bGH)(?=-\d)/gi;
const zeroWidthSpace = '\u200B';

/**
 * Escapes text so that Markdown shows it unchanged on one line. Adds zero-width spaces, which prevent links and
 * mentions.
 */
export function escapeMarkdown(text: string): string {
  const escaped = printable(text).replaceAll(formatting, '\\$&').replace(leadingSign, '\\');
  return escaped.replaceAll(mentions, zeroWidthSpace).replaceAll(links, zeroWidthSpace).replaceAll('&', '&amp;');
}
