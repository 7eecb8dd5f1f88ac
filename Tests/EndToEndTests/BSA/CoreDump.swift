import Crypto
import Foundation
import UsherTestKit

/// The memory of a running process: the file that gdb's gcore writes, as root.
struct CoreDump {
  static let isPossible =
    getuid() == 0 && FileManager.default.isExecutableFile(atPath: "/usr/bin/gcore")

  private let place: TemporaryDirectory
  private let bytes: Data

  init(of pid: Int32) throws {
    place = try TemporaryDirectory()
    let done = try run("/usr/bin/gcore", ["-o", place.file("core"), "\(pid)"], within: 120)
    let path = place.file("core.\(pid)")
    guard done.status == 0, FileManager.default.fileExists(atPath: path) else {
      throw TestError("gcore failed: \(done.output) \(done.errors)")
    }
    bytes = Self.withoutEmptyPages(
      try Data(contentsOf: URL(fileURLWithPath: path), options: .alwaysMapped))
  }

  /// The number of bytes, without pages that are all zero.
  var size: Int { bytes.count }

  private static func withoutEmptyPages(_ whole: Data) -> Data {
    let page = 4096
    let empty = [UInt8](repeating: 0, count: page)
    var kept = Data()
    whole.withUnsafeBytes { whole in
      for start in stride(from: 0, to: whole.count, by: page) {
        let piece = UnsafeRawBufferPointer(rebasing: whole[start..<min(start + page, whole.count)])
        guard let base = piece.baseAddress, memcmp(base, empty, piece.count) != 0 else { continue }
        kept.append(contentsOf: piece)
      }
    }
    return kept
  }

  /// Returns how often a secret occurs, in any of its encodings.
  func count(_ secret: Secret) -> Int { secret.forms.reduce(0) { $0 + count($1) } }

  private func count(_ form: Data) -> Int {
    bytes.withUnsafeBytes { whole in
      form.withUnsafeBytes { needle in
        guard let base = whole.baseAddress, let wanted = needle.baseAddress else { return 0 }
        var found = 0
        var next = base
        let end = base + whole.count - needle.count
        while next <= end, let hit = memchr(next, Int32(needle[0]), end - next + 1) {
          if memcmp(hit, wanted, needle.count) == 0 { found += 1 }
          next = UnsafeRawPointer(hit) + 1
        }
        return found
      }
    }
  }

  /// A secret to search for, in all its encodings.
  struct Secret {
    let name: String
    let forms: [Data]

    init(_ name: String, _ bytes: Data) {
      self.name = name
      forms = Trace(bytes).forms
    }

    init(_ name: String, text: String) { self.init(name, Data(text.utf8)) }

    /// Creates a key that is also searched for combined with HMAC's inner and outer pads (RFC 2104
    /// §2).
    init(_ name: String, key: Data) {
      self.name = name
      forms =
        Secret(name, key).forms + [Data(key.map { $0 ^ 0x36 }), Data(key.map { $0 ^ 0x5C })]
    }
  }
}

/// The keys of a daemon's store, as read from its state directory.
struct StoreKeys {
  let master: Data
  let data: Data

  /// Unwraps the data key from a key slot of form 2: form, salt, nonce, ciphertext, tag. The form
  /// is authenticated too.
  init(state: String) throws {
    master = try Data(contentsOf: URL(fileURLWithPath: "\(state)/master.key"))
    let query = "SELECT hex(wrapped) FROM key_slots WHERE kind = 'master'"
    let done = try run("/usr/bin/sqlite3", ["\(state)/usherd.db", query])
    let digits = Array(done.output.trimmingCharacters(in: .whitespacesAndNewlines))
    let wrapped = stride(from: 0, to: digits.count - 1, by: 2).compactMap {
      UInt8(String(digits[$0...($0 + 1)]), radix: 16)
    }
    guard wrapped.count == 93, wrapped[0] == 2 else {
      throw TestError("the database has no readable key slot: \(done)")
    }
    var slot = ["usherd key slot", "master", ""].reduce(into: Data()) { slot, field in
      withUnsafeBytes(of: Int64(field.utf8.count).bigEndian) { slot.append(contentsOf: $0) }
      slot.append(contentsOf: field.utf8)
    }
    withUnsafeBytes(of: Int64(wrapped[0]).bigEndian) { slot.append(contentsOf: $0) }
    let key = HKDF<SHA256>.deriveKey(
      inputKeyMaterial: SymmetricKey(data: master), salt: wrapped[1..<33], info: slot,
      outputByteCount: 32)
    data = try AES.GCM.open(
      AES.GCM.SealedBox(combined: wrapped[33...]), using: key, authenticating: slot)
  }
}
