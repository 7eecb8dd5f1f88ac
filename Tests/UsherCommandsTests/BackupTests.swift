import FoundationEssentials
import Glibc
import JSONRPC
import Testing
import UsherCommands

@Suite("usherctl backup", .timeLimit(.minutes(10)))
struct BackupTests {
  private let machine: FakeMachine
  private let content = FakeMachine.database("content")
  private var copy: String { machine.database + ".backup-1" }
  private var file: String { machine.folder + "/file" }

  init() throws {
    machine = try FakeMachine()
    try machine.write(content, to: machine.database + ".backup-1")
  }

  private func answer(_ path: String? = nil) -> Exchange {
    .ask("system.backup", #"{"path":"\#(path ?? copy)","bytes":4096}"#)
  }

  @Test("usherctl backup fetches the daemon's copy into a private file and deletes the copy")
  func fetched() async throws {
    let done = try await machine.usherctl(["backup", file], asking: [answer()])
    #expect(done.status == 0 && done.error == "\(file): 4 KiB\n", "\(done)")
    #expect(machine.read(file) == content)
    var status = stat()
    #expect(stat(file, &status) == 0)
    #expect(status.st_mode & 0o7777 == 0o600 && status.st_nlink == 1)
    #expect(machine.read(copy) == nil && left == ["file"])
  }

  /// The names in the folder that begin with the name of the backup.
  private var left: [String] { machine.names(machine.folder).filter { $0.hasPrefix("file") } }

  @Test("usherctl backup does not touch other files with similar names")
  func unrelated() async throws {
    try machine.write([1], to: file + ".new")
    let done = try await machine.usherctl(["backup", file], asking: [answer()])
    #expect(done.status == 0 && machine.read(file) == content, "\(done)")
    #expect(machine.read(file + ".new") == [1] && left == ["file", "file.new"])
  }

  @Test("usherctl backup keeps an existing file unless --force is given")
  func force() async throws {
    try machine.write([1], to: file)
    let kept = try await machine.usherctl(["backup", file])
    #expect(kept.status == 1 && kept.error.contains("already exists"), "\(kept)")
    #expect(machine.read(file) == [1])
    let done = try await machine.usherctl(["backup", "--force", file], asking: [answer()])
    #expect(done.status == 0 && machine.read(file) == content, "\(done)")
    try machine.write(content, to: copy)
    let json = try await machine.usherctl(
      ["backup", "--force", file, "--json"], asking: [answer()])
    #expect(json.output == #"{"path":"\#(copy)","bytes":4096}"# + "\n", "\(json)")
  }

  @Test("usherctl backup - writes the whole database to standard output")
  func output() async throws {
    let target = open(machine.folder + "/out", O_WRONLY | O_CREAT, 0o600)
    let done = try await machine.usherctl(["backup", "-"], output: target, asking: [answer()])
    close(target)
    #expect(done.status == 0 && done.output == "", "\(done)")
    #expect(machine.read(machine.folder + "/out") == content)
    #expect(machine.read(copy) == nil)
  }

  @Test("usherctl backup does not ask the daemon if the file cannot be written")
  func noPlace() async throws {
    let none = try await machine.usherctl(["backup", machine.folder + "/none/file"])
    #expect(none.status == 1 && none.error.contains("No such file or directory"), "\(none)")
    mkdir(file, 0o700)
    let directory = try await machine.usherctl(["backup", "--force", file])
    #expect(directory.status == 1 && directory.error.contains("is not a regular file"))
  }

  @Test("usherctl backup leaves no file if the daemon refuses the backup")
  func refused() async throws {
    let error = #"""
      {"code":-32003,"message":"another copy of the database is being made: try again later",\#
      "data":{"reason":"overloaded","retryable":true,"correlationId":"c"}}
      """#
    let done = try await machine.usherctl(
      ["backup", file], asking: [.refuse("system.backup", error)])
    #expect(done.status == 75 && done.error.contains("another copy"), "\(done)")
    #expect(left == [])
  }

  @Test(
    "usherctl backup neither fetches nor removes a file that is not the daemon's copy",
    arguments: 0..<6)
  func notItsOwn(_ number: Int) async throws {
    var path = copy
    switch number {
    case 0: path = machine.database
    case 1: chmod(copy, 0o644)
    case 2: link(copy, machine.folder + "/link")
    case 3:
      path = machine.database + ".backup-2"
      symlink(copy, path)
    case 4: try machine.write([UInt8](repeating: 65, count: 4096), to: copy)
    default: path = machine.database + ".backup-none"
    }
    try machine.write(content, to: machine.database)
    let done = try await machine.usherctl(["backup", file], asking: [answer(path)])
    #expect(done.status == (number == 5 ? 75 : 1), "\(done)")
    #expect(left == [])
    #expect(machine.read(machine.database) == content && machine.read(copy) != nil)
  }

  @Test("usherctl backup does not keep a copy that is shorter than the daemon reported")
  func short() async throws {
    let more = Exchange.ask("system.backup", #"{"path":"\#(copy)","bytes":8192}"#)
    let done = try await machine.usherctl(["backup", file], asking: [more])
    #expect(done.status == 1 && done.error.contains("is truncated"), "\(done)")
    #expect(machine.read(file) == nil && machine.read(copy) == nil)
  }
}
