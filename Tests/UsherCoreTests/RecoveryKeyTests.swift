import Testing
import UsherCore

@Suite("Recovery key as text")
struct RecoveryKeyTests {
  private let key = RecoveryKey((0..<32).map { UInt8(truncatingIfNeeded: $0 * 37 + 11) })
  private var text: String { key.text.revealed() }

  private func mistake(_ text: String) -> RecoveryKey.Mistake? {
    #expect(throws: RecoveryKey.Mistake.self) { try RecoveryKey(Secret(text)) }
  }

  @Test("a recovery key is written as eight groups of seven characters and read back equal")
  func roundTrip() throws {
    let groups = text.split(separator: "-")
    #expect(groups.count == 8 && groups.allSatisfy { $0.count == 7 })
    #expect(try RecoveryKey(key.text) == key)
    for byte: UInt8 in [0, 0xFF] {
      let key = RecoveryKey([UInt8](repeating: byte, count: 32))
      #expect(try RecoveryKey(key.text).bytes == key.bytes)
    }
  }

  @Test("the text of known recovery keys equals that of another implementation")
  func known() {
    let zero = RecoveryKey([UInt8](repeating: 0, count: 32)).text.revealed()
    #expect(zero == "0000000-0000000-0000000-0000000-0000000-0000000-0000000-007FE2G")
    let counting = RecoveryKey((0..<32).map { UInt8($0) }).text.revealed()
    #expect(counting == "000G40R-40M30E2-09185GR-38E1W81-24GK2GA-HC5RR34-D1P70X3-RFT5WF7")
  }

  @Test("a recovery key is read despite lower case, spaces, missing hyphens and look-alikes")
  func forgiving() throws {
    let typed = [
      text.lowercased(), text.replacing("-", with: ""), text.replacing("-", with: " ") + "\n",
      text.replacing("0", with: "O"), text.replacing("0", with: "o"),
      text.replacing("1", with: "I"),
      text.replacing("1", with: "l"), text.replacing("1", with: "L"), "  \(text)\r\n",
    ]
    #expect(text.contains("0") && text.contains("1"))
    for typed in typed { #expect(try RecoveryKey(Secret(typed)) == key, "\(typed)") }
  }

  @Test("each wrong character and each swapped pair in a recovery key is detected")
  func mistyped() {
    let characters = Array(text)
    for (index, character) in characters.enumerated() where character != "-" {
      for other in "0123456789ABCDEFGHJKMNPQRSTVWXYZ" where other != character {
        var typed = characters
        typed[index] = other
        #expect(mistake(String(typed)) == .check)
      }
      guard index + 1 < characters.count, characters[index + 1] != "-",
        characters[index + 1] != character
      else { continue }
      var typed = characters
      typed.swapAt(index, index + 1)
      #expect(mistake(String(typed)) == .check)
    }
  }

  @Test("a recovery key of wrong length or with an invalid character is refused with the reason")
  func malformed() {
    #expect(mistake("") == .length(0))
    #expect(mistake(String(text.dropLast())) == .length(55))
    #expect(mistake(text + "0") == .length(57))
    #expect(mistake("U" + text.dropFirst()) == .character(1))
    #expect(mistake(String(text.dropLast()) + "ä") == .length(57))
    #expect(mistake(String(text.dropLast()) + "!") == .character(56))
  }

  @Test("a recovery key prints as <secret>")
  func printing() {
    #expect("\(key)" == "<secret>")
    #expect(String(reflecting: key) == "<secret>")
  }
}
