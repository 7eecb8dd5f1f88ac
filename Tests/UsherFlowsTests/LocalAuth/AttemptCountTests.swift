import FoundationEssentials
import JSONRPC
import Testing
import UsherCore
import UsherFlows

@Suite("Consecutive wrong attempts")
struct AttemptCountTests {
  private func count(_ wrong: Int, at time: Timestamp = now) -> AttemptCount {
    var count = AttemptCount()
    for _ in 0..<wrong { count.recordFailure(at: time) }
    return count
  }

  @Test("up to four wrong passcodes or fingers do not lock; the attempts left are counted")
  func free() {
    for wrong in 0...4 {
      var count = count(wrong)
      #expect(count.lockedUntil(at: now) == nil)
      #expect(count.left == 5 - wrong)
    }
  }

  @Test(
    "the fifth wrong passcode or finger locks for 30 s, each later one for longer, up to an hour",
    arguments: [(5, 30), (6, 60), (7, 300), (8, 900), (9, 3600), (10, 3600), (50, 3600)])
  func grows(wrong: Int, seconds: Int) {
    var count = count(wrong)
    #expect(count.lockedUntil(at: now) == now + .seconds(seconds))
    #expect(count.lockedUntil(at: now + .seconds(seconds) - .milliseconds(1)) != nil)
    #expect(count.lockedUntil(at: now + .seconds(seconds)) == nil)
    #expect(count.left == 1)
  }

  @Test(
    "a clock that is set back neither ends nor lengthens a lock after wrong passcodes or fingers")
  func clockSetBack() {
    var count = count(5)
    let yesterday = now - .seconds(86_400)
    #expect(count.lockedUntil(at: yesterday) == yesterday + .seconds(30))
    #expect(count.lockedUntil(at: yesterday + .seconds(29)) == yesterday + .seconds(30))
    #expect(count.lockedUntil(at: yesterday + .seconds(30)) == nil)
  }
}

@Suite("The hash of a passcode")
struct PasscodeHashTests {
  private let salt = [UInt8](1...16)

  @Test("the hash of a passcode accepts that passcode and no other")
  func knows() throws {
    let hash = try PasscodeHash(passcode, salt: salt)
    #expect(try hash.accepts(passcode))
    for other in ["", "passcode-secre", "passcode-secret ", "Passcode-secret"] {
      #expect(try !hash.accepts(Secret(other)))
    }
  }

  @Test("the hash of a passcode is stored with its scrypt costs, and only by a sealing coder")
  func cost() throws {
    let encoder = JSONEncoder()
    encoder.userInfo[.sealedStorage] = true
    let stored = try JSONValue(parsing: Array(encoder.encode(PasscodeHash(passcode, salt: salt))))
    #expect(stored["rounds"] == 32_768 && stored["blockSize"] == 8 && stored["parallelism"] == 1)
    #expect(stored["key"]?.stringValue?.count == 64)
    #expect(throws: EncodingError.self) {
      try JSONEncoder().encode(PasscodeHash(passcode, salt: salt, rounds: 16))
    }
  }

  @Test("the hash of a passcode is the scrypt key of RFC 7914 §12")
  func vector() throws {
    // N 2^14, r 8, p 1, passphrase "pleaseletmein", salt "SodiumChloride": the first 32 bytes.
    let hash = try PasscodeHash(
      Secret("pleaseletmein"), salt: Array("SodiumChloride".utf8), rounds: 1 << 14)
    let encoder = JSONEncoder()
    encoder.userInfo[.sealedStorage] = true
    let stored = try JSONValue(parsing: Array(encoder.encode(hash)))
    #expect(
      stored["key"] == "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2")
  }

  @Test("the hash of a passcode depends on its salt and does not print the passcode")
  func salted() throws {
    let hash = try PasscodeHash(passcode, salt: salt)
    #expect(try hash != PasscodeHash(passcode, salt: salt.reversed()))
    #expect(try hash == PasscodeHash(passcode, salt: salt))
    #expect(!String(describing: hash).contains("passcode-secret"))
  }
}
