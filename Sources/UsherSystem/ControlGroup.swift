/// Which systemd unit a control group belongs to, as systemd's `cg_path_get_unit` reads it, but
/// only for units of the system's own manager.
enum ControlGroup {
  /// The path in the text of `/proc/<pid>/cgroup`. Only the unified hierarchy (`0::`) counts.
  static func path(in text: String) -> String? {
    text.split(separator: "\n").first { $0.hasPrefix("0::") }.map { String($0.dropFirst(3)) }
  }

  /// The unit of a path like `/system.slice/till.service/worker`.
  ///
  /// The first part that is not a slice is the unit; what is below it, the unit made itself. Nil for
  /// a process outside of any system unit, above all for everything below `user.slice`: there users
  /// name units as they like.
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

  /// systemd puts `_` before a name that would collide with one of the kernel's.
  private static func unescaped(_ part: Substring) -> Substring {
    part.hasPrefix("_") ? part.dropFirst() : part
  }

  /// `a-b.slice` lies in `a.slice`, and nowhere else.
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
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: ":-_.\\@".utf8.contains(byte)
    }
  }
}
