import Foundation

/// This machine's own systemd, booted in namespaces for tests, powered off when the test lets go of it
/// and when the test process ends, however that happens. See Tests/Lifecycle/systemd-in-namespaces.
///
/// Inside are the machine's files under an overlay, a network of one loopback interface, and none of
/// the machine's services.
package final class BootedSystem: @unchecked Sendable {
  /// Why none can be booted here; nil where it can.
  package static let obstacle: String? = {
    do {
      let check = try UsherTestKit.run(script, ["check"])
      return check.status == 0 ? nil : check.errors
    } catch { return "\(error)" }
  }()

  private static let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("../Lifecycle/systemd-in-namespaces").standardized.path

  /// Of its systemd, as seen from here.
  package let pid: Int32
  private let place: TemporaryDirectory
  private let process = Process()
  /// As long as it is open, the system runs.
  private let processContext: FileHandle

  /// Its root directory, as seen from here.
  package var root: String { "/proc/\(pid)/root" }

  /// Boots, and returns when all has started.
  ///
  /// - Parameter binding: Paths inside, and what of the machine is seen there.
  package init(binding: [String: String] = [:]) throws {
    place = try TemporaryDirectory()
    try place.write("", to: "out")
    var ends: [Int32] = [-1, -1]
    // Children of other tests must not hold it open.
    let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw TestError("no socket pair") }
    processContext = FileHandle(fileDescriptor: ends[1], closeOnDealloc: true)
    let input = FileHandle(fileDescriptor: ends[0], closeOnDealloc: true)
    let output = FileHandle(forWritingAtPath: place.file("out"))
    process.executableURL = URL(fileURLWithPath: Self.script)
    process.arguments =
      ["boot"] + binding.flatMap { ["--bind", "\($0.value):\($0.key)"] }
    process.standardInput = input
    process.standardOutput = output
    process.standardError = output
    try process.run()
    try output?.close()
    try input.close()
    var printed = ""
    try eventually(within: 90, "the system is up") { [process, place] in
      printed = String(
        decoding: FileManager.default.contents(atPath: place.file("out")) ?? Data(), as: UTF8.self)
      guard process.isRunning else { throw TestError("the system does not boot: \(printed)") }
      return printed.hasSuffix("\n") && printed.contains("up ")
    }
    // Whoever keeps this to the end of the process never lets go of it.
    place.remove()
    guard let pid = Int32(printed.dropFirst(3).dropLast()) else { throw TestError(printed) }
    self.pid = pid
  }

  /// Powers off, and returns when nothing is left of it.
  ///
  /// - Returns: 0 where all went in order.
  package func powerOff() throws -> Int32 {
    try processContext.close()
    try eventually(within: 60, "the system is off") { !process.isRunning }
    return process.terminationStatus
  }
}

// MARK: - Inside

extension BootedSystem {
  /// Runs a command as root inside, to its end.
  ///
  /// - Returns: What it wrote on standard output.
  /// - Throws: Where it fails.
  @discardableResult
  package func run(_ command: String..., within seconds: Double = 60) throws -> String {
    try run(command, within: seconds)
  }

  @discardableResult
  package func run(_ command: [String], within seconds: Double = 60) throws -> String {
    let done = try UsherTestKit.run(
      Self.script, ["in", "\(pid)"] + command, within: seconds)
    guard done.status == 0 else {
      throw TestError("\(command.joined(separator: " ")): \(done.status) \(done.errors)")
    }
    return done.output
  }

  /// Where a file of the system is found from here.
  package func path(_ inside: String) -> String { root + inside }

  package func write(_ text: String, to inside: String) throws {
    let file = URL(fileURLWithPath: path(inside))
    try FileManager.default.createDirectory(
      at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(text.utf8).write(to: file)
  }

  /// Copies a file of the machine, with its mode.
  package func copy(_ outside: String, to inside: String) throws {
    let target = path(inside)
    try FileManager.default.createDirectory(
      atPath: (target as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
    try FileManager.default.copyItem(atPath: outside, toPath: target)
  }

  /// A property of a unit, as in `systemctl show`.
  package func property(_ name: String, of unit: String) throws -> String {
    try run("systemctl", "show", "--value", "--property=\(name)", unit)
      .trimmingCharacters(in: .whitespacesAndNewlines)
  }

  /// What the unit has logged.
  package func journal(of unit: String) -> String {
    (try? run("journalctl", "--no-pager", "--output=cat", "--unit=\(unit)")) ?? ""
  }

  /// The path of a process's control group.
  package func controlGroup(of process: Int32) throws -> String {
    let lines = try run("cat", "/proc/\(process)/cgroup").split(separator: "\n")
    guard let line = lines.first(where: { $0.hasPrefix("0::") }) else {
      throw TestError("process \(process) has no control group")
    }
    return String(line.dropFirst(3))
  }

  /// Moves a process to another control group, which is made if there is none.
  package func move(_ process: Int32, to group: String) throws {
    try run(
      "sh", "-c", #"mkdir -p "/sys/fs/cgroup$1" && echo "$2" >"/sys/fs/cgroup$1/cgroup.procs""#,
      "sh", group, "\(process)")
  }

  /// Does something in the system's network, on this thread.
  package func inNetwork<Result>(_ body: () throws -> Result) throws -> Result {
    let ours = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)
    let theirs = open("/proc/\(pid)/ns/net", O_RDONLY | O_CLOEXEC)
    defer { for descriptor in [ours, theirs] where descriptor >= 0 { close(descriptor) } }
    // The C library's module for Swift leaves it out.
    guard let symbol = dlsym(dlopen(nil, RTLD_NOW), "setns") else { throw TestError("no setns") }
    let setns = unsafeBitCast(symbol, to: (@convention(c) (Int32, Int32) -> Int32).self)
    guard ours >= 0, theirs >= 0, setns(theirs, 0) == 0 else {
      throw TestError("the system's network cannot be entered")
    }
    defer { _ = setns(ours, 0) }
    return try body()
  }
}
