import FoundationEssentials
import Glibc
import Testing
import UsherCore

@testable import UsherSystem

@Suite("Loading of the master key")
struct MasterKeyTests {
  private let state: TemporaryDirectory
  private let store: TemporaryDirectory
  private let key = (0..<32).map { UInt8($0 * 7 + 3) }

  init() throws {
    state = try TemporaryDirectory()
    store = try TemporaryDirectory()
  }

  private var path: String { state.file("master.key") }
  private var withoutCredentials: MasterKeySource { MasterKeySource(credentials: nil) }
  private var withCredentials: MasterKeySource {
    MasterKeySource(credentials: CredentialsDirectory(path: store.path))
  }

  private func fileRefusal() -> String? {
    refusal { _ = try withoutCredentials.load(stateDirectory: state.path) }
  }

  @Test("a master key credential as raw bytes, hex or base64 yields the same key")
  func credentialForms() throws {
    let hex = key.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    let base64 = Data(key).base64EncodedString()
    let texts = [hex, hex.uppercased(), base64, String(base64.dropLast())]
    let forms = [key] + texts.flatMap { [Array($0.utf8), Array("\($0)\n".utf8)] }
    for form in forms {
      try store.write(form, to: "usherd.master-key")
      let loaded = try withCredentials.load(stateDirectory: state.path)
      #expect(loaded.bytes.withUnsafeBytes { Array($0) } == key)
      #expect(loaded.origin == .systemdCredential)
    }
    #expect(!exists(path))
  }

  @Test(
    "a malformed master key credential is refused, and no key file is created",
    arguments: [
      "", "short", String(repeating: "0", count: 32), String(repeating: "g", count: 64),
      String(repeating: "A", count: 44), String(repeating: "A", count: 42) + "B=",
      String(repeating: "0", count: 66), String(repeating: "x", count: 500),
    ])
  func badCredential(text: String) throws {
    try store.write(Array(text.utf8), to: "usherd.master-key")
    let sentence = refusal { _ = try withCredentials.load(stateDirectory: state.path) }
    #expect(sentence?.hasPrefix("the credential usherd.master-key is not 32 raw bytes") == true)
    #expect(!exists(path))
  }

  @Test("an unreadable master key credential is an error, and no key file is created")
  func unreadableCredential() throws {
    try #require(mkdir(store.file("usherd.master-key"), 0o700) == 0)
    #expect(refusal { _ = try withCredentials.load(stateDirectory: state.path) } != nil)
    #expect(!exists(path))
  }

  @Test("without a credential a key file is created once, readable by its owner only")
  func generated() throws {
    let first = try withCredentials.load(stateDirectory: state.path)
    let second = try withoutCredentials.load(stateDirectory: state.path)
    let bytes = first.bytes.withUnsafeBytes { Array($0) }
    #expect(bytes == second.bytes.withUnsafeBytes { Array($0) })
    #expect(bytes != [UInt8](repeating: 0, count: 32))
    #expect(first.origin == .keyFile(path))
    #expect(mode(of: path) == 0o600)
    #expect(try FileManager.default.contentsOfDirectory(atPath: state.path) == ["master.key"])
  }

  @Test("two state directories get two different master keys")
  func different() throws {
    let one = try withoutCredentials.load(stateDirectory: state.path)
    let two = try withoutCredentials.load(stateDirectory: store.path)
    #expect(
      one.bytes.withUnsafeBytes { Array($0) } != two.bytes.withUnsafeBytes { Array($0) })
  }

  @Test("eight concurrent first loads end up with one master key")
  func concurrent() async throws {
    let directory = state.path
    let keys = try await withThrowingTaskGroup(of: [UInt8].self) { group in
      for _ in 0..<8 {
        group.addTask {
          let key = try MasterKeySource(credentials: nil).load(stateDirectory: directory)
          return key.bytes.withUnsafeBytes { Array($0) }
        }
      }
      return try await group.reduce(into: Set()) { $0.insert($1) }
    }
    #expect(keys.count == 1)
  }

  @Test("a store whose master key is lost gets an error with the way to recover, and no new key")
  func lost() {
    let sentence = refusal {
      _ = try withoutCredentials.load(stateDirectory: state.path, generating: false)
    }
    #expect(
      sentence == "the database has no master key: neither \(path) nor a credential exists; "
        + "to open it with its recovery key, run: usherctl recover")
    #expect(!exists(path))
  }

  @Test("a non-private master key is refused", arguments: [0o640, 0o604, 0o660, 0o610] as [mode_t])
  func wideMode(mode: mode_t) throws {
    try state.write(key, to: "master.key", mode: mode)
    #expect(
      fileRefusal() == "the master key \(path) has mode \(String(mode, radix: 8)); "
        + "it must be readable by its owner only (chmod 600)")
  }

  @Test("a master key file of the wrong length is refused", arguments: [0, 31, 33])
  func wrongLength(count: Int) throws {
    try state.write([UInt8](repeating: 1, count: count), to: "master.key")
    #expect(fileRefusal() == "the master key \(path) has \(count) bytes; it must have 32")
  }

  @Test("a symbolic link as master key file is refused even if it leads to a valid key")
  func symbolicLink() throws {
    try state.write(key, to: "elsewhere")
    try #require(symlink("elsewhere", path) == 0)
    #expect(
      fileRefusal() == "the master key \(path) is a symbolic link; it must be a regular file")
  }

  @Test("a directory in place of the master key file is refused")
  func directoryInItsPlace() throws {
    try #require(mkdir(path, 0o700) == 0)
    #expect(fileRefusal() == "the master key \(path) is not a regular file")
  }

  @Test("a master key file of another user is refused", .enabled(if: isRoot, needsRoot))
  func foreignOwner() throws {
    try state.write(key, to: "master.key")
    try #require(chown(path, 65534, 65534) == 0)
    #expect(
      fileRefusal() == "the master key \(path) is owned by uid 65534; it must be owned by uid 0")
  }

  @Test("a missing state directory is named in the error")
  func noDirectory() {
    let missing = state.file("nothing")
    let sentence = refusal { _ = try withoutCredentials.load(stateDirectory: missing) }
    #expect(sentence?.hasPrefix("a master key cannot be created in \(missing)") == true)
  }

  @Test("a refused master key is reported as storage_unavailable")
  func reason() throws {
    try state.write([1], to: "master.key")
    #expect {
      try withoutCredentials.load(stateDirectory: state.path)
    } throws: {
      ($0 as? UsherError)?.reason == .storageUnavailable
    }
  }
}
