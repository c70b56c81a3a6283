// What is said about conversations.

import { learn } from "./words.js";

learn("en", {
  ofThreads: {
    search: "Search conversations",
    searchShort: "Search",
    today: "Today",
    yesterday: "Yesterday",
    week: "Last 7 days",
    older: "Older",
    moreOf: (name) => `More: ${name}`,
    archive: "Archive",
    unarchive: "Restore",
    deleted: (name) => `“${name}” deleted`,
    archived: (name) => `“${name}” archived`,
    undo: "Undo",
    noneFound: (text) => `Nothing found for “${text}”`,
    allThreads: "All conversations",
    untitled: "Without a title",
    withArchived: "Show archived",
    foundOf: (some, all) => (some === all ? `${all}` : `${some} of ${all}`),
    archivedMark: "archived",
  },
});
learn("zh", {
  ofThreads: {
    search: "搜索会话",
    searchShort: "搜索",
    today: "今天",
    yesterday: "昨天",
    week: "最近 7 天",
    older: "更早",
    moreOf: (name) => `更多操作：${name}`,
    archive: "归档",
    unarchive: "恢复",
    deleted: (name) => `已删除“${name}”`,
    archived: (name) => `已归档“${name}”`,
    undo: "撤销",
    noneFound: (text) => `没有找到“${text}”`,
    allThreads: "全部会话",
    untitled: "未命名",
    withArchived: "显示已归档",
    foundOf: (some, all) => (some === all ? `${all}` : `${all} 个中的 ${some} 个`),
    archivedMark: "已归档",
  },
});

/** What the search of conversations is called. */
export const threadSearch = ({ ofThreads }, shortcut) => ({
  label: ofThreads.search,
  hint: ofThreads.searchShort,
  shortcut,
});
