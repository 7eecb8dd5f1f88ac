package import Foundation
package import JSONRPC
import Testing

/// Collects the output of a daemon, and searches that and all files of the daemon for secrets.
package final class CanarySearch {
  package typealias Place = (name: String, bytes: Data)

  private let daemon: DaemonUnderTest
  private let listener: RawClient
  /// The replies and events of the daemon.
  package private(set) var told: [String] = []

  /// Subscribes to all events.
  package init(_ daemon: DaemonUnderTest) throws {
    self.daemon = daemon
    listener = try daemon.client()
    let topics: JSONValue = ["flow", "account", "token", "provider", "confirm", "kyc"]
    _ = try listener.call("events.subscribe", ["topics": topics])
  }

  /// Records a reply, and returns it.
  @discardableResult
  package func record(_ answer: JSONValue) -> JSONValue {
    told.append(answer.text)
    return answer
  }

  package func record(page: Web.Reply) { told.append(page.text) }

  /// Submits input that may contain a secret, and records the refusal.
  package func recordRefusal(of input: JSONValue, to flow: JSONValue, by app: RawClient) throws {
    let params: JSONValue = [
      "flow": flow["id"] ?? .null, "revision": flow["revision"] ?? .null, "input": input,
    ]
    record(try app.reply(to: "flow.submit", params))
  }

  /// Records the events that have arrived.
  package func recordEvents() throws {
    try listener.send(#"{"jsonrpc":"2.0","id":"end","method":"system.status"}"#)
    while let line = try listener.receiveLine() {
      let text = String(decoding: line, as: UTF8.self)
      if text.contains(#""id":"end""#) { return }
      told.append(text)
    }
  }

  /// Records the output of list methods and of usherctl.
  package func recordLists(
    _ methods: [String] = [
      "account.list", "token.list", "flow.list", "provider.list", "totp.list", "consent.list",
      "system.status",
    ], commands: [[String]] = [["config", "show"], ["credential", "list"]]
  ) throws {
    let app = try daemon.client()
    for method in methods { record(try app.reply(to: method)) }
    for command in commands {
      let shown = try daemon.usherctl(command)
      #expect(shown.status == 0, "\(command): \(shown.errors)")
      told += [shown.output, shown.errors]
    }
  }

  /// All files and the log of the daemon, except the master key.
  package func files() -> [Place] {
    daemon.place.everything().filter { !$0.name.contains("master.key") }
  }

  /// Stops the daemon, and checks that no secret is in a place where it must not be.
  ///
  /// - Parameters:
  ///   - secrets: Texts that must not be found anywhere.
  ///   - keys: Bytes that must not be found anywhere.
  ///   - people: Texts that must be neither on disk nor in the log.
  ///   - found: Texts that must be found, as a proof that the search works.
  package func expectNone(
    of secrets: [String], keys: [Data] = [], people: [String] = [], found: [String]
  ) throws {
    try? recordEvents()  // The connection is closed if the daemon was killed.
    let process: [Place] = ["cmdline", "environ"].map { name in
      (name, FileManager.default.contents(atPath: "/proc/\(daemon.pid)/\(name)") ?? Data())
    }
    let running = files()
    #expect(try daemon.stop() == 0)
    while let line = try? listener.receiveLine() {
      told.append(String(decoding: line, as: UTF8.self))
    }
    let left = running + files() + process
    let answers: [Place] = [("replies and events", Data(told.joined(separator: "\n").utf8))]
    expectNone(of: secrets, in: left + answers, "at the end")
    expectNone(of: people, in: left, "at the end")
    for key in keys {
      let trace = Trace(key)
      for (name, bytes) in left + answers where trace.isIn(bytes) {
        Issue.record("at the end: \(name) contains a key")
      }
    }
    for text in found {
      let bytes = Data(text.utf8)
      #expect(
        (left + answers).contains { $0.1.range(of: bytes) != nil },
        "no file, reply or event contains \(text)")
    }
    #expect(left.contains { $0.0.hasSuffix("usherd.log") && $0.1.count > 1000 })
  }

  /// Searches for secrets as text, in Base64 and in hexadecimal.
  package func expectNone(of secrets: [String], in places: [Place], _ moment: String) {
    for secret in secrets {
      #expect(!secret.isEmpty)
      for (name, bytes) in places where Self.occurs(secret, in: bytes) {
        Issue.record("\(moment): \(name) contains \(secret.prefix(8))…")
      }
    }
  }

  /// Whether the bytes contain a secret in any form.
  ///
  /// The digits of a one-time code can occur by chance in longer numbers and identifiers. They
  /// count only without a letter or digit next to them.
  package static func occurs(_ secret: String, in bytes: Data) -> Bool {
    let isCode = secret.utf8.count <= 8 && secret.utf8.allSatisfy { (48...57).contains($0) }
    return forms(secret).contains { form in
      var rest = bytes[...]
      while let range = rest.range(of: form) {
        let beside = [bytes[..<range.lowerBound].last, bytes[range.upperBound...].first]
        guard isCode, beside.contains(where: { $0.map(Self.isLetterOrDigit) ?? false }) else {
          return true
        }
        rest = bytes[range.upperBound...]
      }
      return false
    }
  }

  private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "a")...UInt8(ascii: "z"):
      true
    default: false
    }
  }

  /// Returns the byte sequences to search for. Other encodings of a short text occur by chance, so
  /// a text of less than 16 bytes is searched for as it is and in Base64 only.
  private static func forms(_ secret: String) -> [Data] {
    let text = Data(secret.utf8)
    return text.count < 16
      ? [text, Data(text.base64EncodedString().utf8)] : Trace(secret).forms
  }
}

/// The forms in which a text may occur: as it is, in Base64 at any offset, in hexadecimal.
package struct Trace {
  package let forms: [Data]

  package init(_ text: String) { self.init(Data(text.utf8)) }

  package init(asItIs text: String) { forms = [Data(text.utf8)] }

  package init(_ bytes: Data) {
    let hex = bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    // The Base64 form depends on the offset modulo three; its ends also depend on the neighbouring
    // bytes.
    let base64 = (0..<3).map { offset in
      let text = (Data(count: offset) + bytes).base64EncodedString()
      return String(text.dropFirst([0, 2, 3][offset]).dropLast(4))
    }
    forms = [bytes, Data(hex.utf8), Data(hex.uppercased().utf8)] + base64.map { Data($0.utf8) }
  }

  package func isIn(_ data: Data) -> Bool { forms.contains { data.range(of: $0) != nil } }
}
