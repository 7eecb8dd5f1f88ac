/// Finds the systemd unit that a control group belongs to, like systemd's `cg_path_get_unit`, but
/// only for units of the system manager.
enum ControlGroup {
  /// Returns the control group path in the text of `/proc/<pid>/cgroup`. Only the unified hierarchy
  /// (the line `0::`) counts; see cgroups(7).
  static func path(in text: String) -> String? {
    text.split(separator: "\n").first { $0.hasPrefix("0::") }.map { String($0.dropFirst(3)) }
  }

  /// Returns the unit of a path such as `/system.slice/till.service/worker`.
  ///
  /// The first part that is not a slice is the unit; the control groups below it were created by
  /// the unit itself. Returns nil for a process outside any system unit. That includes everything
  /// below `user.slice`, because users choose the unit names there.
  static func systemUnit(path: Substring) -> String? {
    var parts = path.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.first == "" else { return nil }
    parts.removeFirst()
    guard !parts.contains(where: { ["", ".", ".."].contains($0) }) else { return nil }
    var slice: Substring?
    for part in parts.map(unescaped) {
      guard part.hasSuffix(".slice") else { return isUnit(part) ? String(part) : nil }
      guard part != "user.slice", isSlice(part, within: slice) else { return nil }
      slice = part.dropLast(".slice".count)
    }
    return nil
  }

  /// Removes the `_` that systemd puts before a unit name that would collide with a file name of
  /// the kernel's control group file system.
  private static func unescaped(_ part: Substring) -> Substring {
    part.hasPrefix("_") ? part.dropFirst() : part
  }

  /// Whether a slice is directly in its parent slice, its only valid place: `a-b.slice` is in
  /// `a.slice`.
  private static func isSlice(_ part: Substring, within outer: Substring?) -> Bool {
    let name = part.dropLast(".slice".count)
    let own = outer.map { name.hasPrefix("\($0)-") ? name.dropFirst($0.count + 1) : "" } ?? name
    return !own.isEmpty && !own.contains("-")
  }

  private static func isUnit(_ part: Substring) -> Bool {
    [".service", ".scope"].contains { part.hasSuffix($0) && part.count > $0.count }
      && part.utf8.allSatisfy(isUnitCharacter)
  }

  private static func isUnitCharacter(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
      || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || ":-_.\\@".utf8.contains(byte)
  }
}
