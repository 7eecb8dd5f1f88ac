import FoundationEssentials
import Testing
import UsherCore

@testable import UsherFlows

@Suite("The rtCodes")
struct RTCodeTests {
  /// A part of the documentation's page, cut into the cells of its tables.
  private func rows(under heading: String) throws -> [[String]] {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let path = root.appending(path: "Sources/UsherDaemon/Usher.docc/Providers/BSA.md").path
    let page = try String(contentsOfFile: path, encoding: .utf8)
    let part = page.split(separator: "\n## \(heading)\n").dropFirst().first?
      .split(separator: "\n## ").first
    return (part ?? "").split(separator: "\n").filter { $0.hasPrefix("| ") }.map { line in
      line.dropFirst().dropLast().split(separator: "|", omittingEmptySubsequences: false).map {
        $0.split(separator: " ").joined(separator: " ")
      }
    }
  }

  @Test("are 79, each once, in order, each with a name and a sentence's end")
  func table() {
    let table = RTCode.table
    #expect(table.count == 79)
    let numbers = table.map(\.code.number)
    #expect(numbers == numbers.sorted() && Set(numbers).count == 79)
    #expect(Set(table.map(\.name)).count == 79)
    for entry in table {
      #expect(entry.name.allSatisfy { $0 == "_" || $0.isUppercase || $0.isNumber })
      #expect(!entry.name.isEmpty && !entry.meaning.isEmpty && !entry.meaning.hasSuffix("."))
      #expect(entry.code.entry == entry)
      #expect(entry.code.meaning == entry.meaning)
      #expect(entry.code.isRetryable == entry.isRetryable)
    }
  }

  @Test("are those of the documentation, word for word")
  func page() throws {
    let rows = try rows(under: "All rtCodes").filter { Int64($0[0]) != nil }
    #expect(
      rows
        == RTCode.table.map {
          [String($0.code.number), $0.name, $0.meaning, $0.isRetryable ? "yes" : "no"]
        })
  }

  @Test("may succeed later where the server, not the person, was the cause")
  func retryable() {
    #expect(
      RTCode.table.filter(\.isRetryable).map(\.code.number)
        == [2001, 2010, 2012, 5015, 5016, 5017, 5021, 10_001, 10_003, 10_004])
  }

  @Test("that are not in the table have no name and are not retryable")
  func unknown() {
    for number: Int64 in [-1, 1, 2018, 5009, 5025, 11_000] {
      #expect(RTCode(number).entry == nil && !RTCode(number).isRetryable)
      #expect(RTCode(number).word(BSAParts.name).title == nil)
    }
  }

  @Test("of local authentication are the documentation's, and three words have none")
  func localAuth() throws {
    var codes: [String: String] = [:]
    for row in try rows(under: "Words") where row[0].hasPrefix("`") {
      for word in row[0].split(separator: ",") {
        codes[word.filter { $0 != "`" && $0 != " " }] = row[1]
      }
    }
    #expect(codes.count == LocalAuthWord.allCases.count)
    for word in LocalAuthWord.allCases {
      // The seed's spelling is the daemon's; either stands for it.
      let written = codes.first { LocalAuthWord(written: $0.key) == word }
      #expect(written?.value == word.rtCode.map { String($0.number) } ?? "none", "\(word)")
      if let code = word.rtCode { #expect(code.entry?.name.hasPrefix("LOCAL_") == true) }
    }
  }
}
