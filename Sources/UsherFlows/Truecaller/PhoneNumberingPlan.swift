/// The possible phone numbers of a country: calling code, lengths and first digits.
package struct PhoneNumberingPlan: Equatable, Sendable {
  /// The country calling code: one to three digits (ITU-T E.164 §6.2.1).
  package let callingCode: String
  /// The number of digits of a national (significant) number.
  package let lengths: ClosedRange<Int>
  /// The digits that a national number may begin with.
  package let firstDigits: String

  /// Looks up the plan of a country; nil if the country does not exist or has no numbers of its
  /// own.
  ///
  /// - Parameter country: An ISO 3166-1 alpha-2 code in upper case. `UK`, `XK`, `AC` and `TA` are
  ///   accepted too, because they are in use.
  package init?(_ country: String) {
    guard let plan = Self.all[country] else { return nil }
    self = plan
  }

  private init?(_ columns: [Substring]) {
    guard columns.count == 3 || columns.count == 4 else { return nil }
    let bounds = columns[2].split(separator: "-").compactMap { Int($0) }
    guard let shortest = bounds.first, let longest = bounds.last, shortest <= longest else {
      return nil
    }
    callingCode = String(columns[1])
    lengths = shortest...longest
    firstDigits = columns.count == 4 ? String(columns[3]) : "123456789"
  }

  static let all: [String: PhoneNumberingPlan] = {
    let entries = table.split(whereSeparator: { $0 == "\n" || $0 == "," })
      .map { $0.split(separator: " ") }
      .compactMap { columns in PhoneNumberingPlan(columns).map { (String(columns[0]), $0) } }
    return Dictionary(entries) { first, _ in first }
  }()

  /// Country, calling code, lengths, and the first digits unless they are 1 to 9.
  ///
  /// Sources: the list of assigned country codes of ITU-T Recommendation E.164 for the calling
  /// codes; the national numbering plans as published with the ITU (E.129) for the lengths. The
  /// table was compiled from common knowledge of these plans and was not copied from a database.
  ///
  /// The table rejects impossible numbers; it does not prove that a number exists. If a plan has
  /// numbers of many lengths, the range spans all of them. First digits are given only in these
  /// cases:
  ///
  /// - A 0 belongs to the number in Italy, San Marino, Vatican City, Côte d'Ivoire, Congo, Gabon
  ///   and Benin.
  /// - Numbers of North America do not begin with 0 or 1.
  /// - Kazakhstan shares its calling code with Russia.
  /// - Mobile numbers of India have exactly ten digits and begin with 6, 7, 8 or 9.
  ///
  /// Numbers that only machines have, such as those of 11 digits in the Netherlands, are left out,
  /// because they receive no SMS that a user could read.
  private static let table = """
    AC 247 5-6, AD 376 6-9, AE 971 8-9, AF 93 9, AG 1 10 23456789, AI 1 10 23456789
    AL 355 8-9, AM 374 8, AO 244 9, AR 54 10-11, AS 1 10 23456789, AT 43 4-13, AU 61 9, AW 297 7
    AX 358 5-12, AZ 994 9, BA 387 8-9, BB 1 10 23456789, BD 880 8-10, BE 32 8-9, BF 226 8
    BG 359 7-9, BH 973 8, BI 257 8, BJ 229 8-10 0123456789, BL 590 9, BM 1 10 23456789, BN 673 7
    BO 591 8, BQ 599 7, BR 55 10-11, BS 1 10 23456789, BT 975 7-8, BW 267 7-8, BY 375 9, BZ 501 7
    CA 1 10 23456789, CC 61 9, CD 243 7-9, CF 236 8, CG 242 9 0123456789, CH 41 9
    CI 225 10 0123456789, CK 682 5, CL 56 9, CM 237 9, CN 86 10-11, CO 57 10, CR 506 8, CU 53 6-8
    CV 238 7, CW 599 7-8, CX 61 9, CY 357 8, CZ 420 9, DE 49 6-13, DJ 253 8, DK 45 8
    DM 1 10 23456789, DO 1 10 23456789, DZ 213 8-9, EC 593 8-9, EE 372 7-8, EG 20 8-10, EH 212 9
    ER 291 7, ES 34 9, ET 251 9, FI 358 5-12, FJ 679 7, FK 500 5, FM 691 7, FO 298 6, FR 33 9
    GA 241 7-8 0123456789, GB 44 9-10, GD 1 10 23456789, GE 995 9, GF 594 9, GG 44 10, GH 233 9
    GI 350 8, GL 299 6, GM 220 7-9, GN 224 8-9, GP 590 9, GQ 240 9, GR 30 10, GT 502 8
    GU 1 10 23456789, GW 245 7-9, GY 592 7, HK 852 8, HN 504 8, HR 385 8-9, HT 509 8, HU 36 8-9
    ID 62 7-12, IE 353 7-9, IL 972 8-9, IM 44 10, IN 91 10 6789, IO 246 7, IQ 964 8-10, IR 98 10
    IS 354 7-9, IT 39 6-11 0123456789, JE 44 10, JM 1 10 23456789, JO 962 8-9, JP 81 9-10
    KE 254 7-9, KG 996 9, KH 855 8-9, KI 686 5-8, KM 269 7, KN 1 10 23456789, KP 850 8-10
    KR 82 8-10, KW 965 8, KY 1 10 23456789, KZ 7 10 67, LA 856 8-10, LB 961 7-8
    LC 1 10 23456789, LI 423 7-9, LK 94 9, LR 231 7-9, LS 266 8, LT 370 8, LU 352 4-11, LV 371 8
    LY 218 8-9, MA 212 9, MC 377 8-9, MD 373 8, ME 382 8-9, MF 590 9, MG 261 9, MH 692 7, MK 389 8
    ML 223 8, MM 95 6-10, MN 976 8-10, MO 853 8, MP 1 10 23456789, MQ 596 9, MR 222 8
    MS 1 10 23456789, MT 356 8, MU 230 7-8, MV 960 7, MW 265 7-9, MX 52 10, MY 60 8-10
    MZ 258 8-9, NA 264 8-9, NC 687 6, NE 227 8, NF 672 5-6, NG 234 7-10, NI 505 8, NL 31 9, NO 47 8
    NP 977 8-10, NR 674 7, NU 683 4-7, NZ 64 8-10, OM 968 8, PA 507 7-8, PE 51 8-9, PF 689 6-8
    PG 675 7-8, PH 63 8-10, PK 92 9-10, PL 48 9, PM 508 6-9, PR 1 10 23456789, PS 970 8-9
    PT 351 9, PW 680 7, PY 595 7-9, QA 974 7-8, RE 262 9, RO 40 9, RS 381 8-10, RU 7 10, RW 250 9
    SA 966 9, SB 677 5-7, SC 248 7, SD 249 9, SE 46 7-10, SG 65 8, SH 290 4-5, SI 386 8, SJ 47 8
    SK 421 9, SL 232 8, SM 378 6-10 0123456789, SN 221 9, SO 252 7-9, SR 597 6-7, SS 211 9
    ST 239 7, SV 503 8, SX 1 10 23456789, SY 963 8-9, SZ 268 8, TA 290 4, TC 1 10 23456789
    TD 235 8, TG 228 8, TH 66 8-9, TJ 992 9, TK 690 4-7, TL 670 7-8, TM 993 8, TN 216 8, TO 676 5-7
    TR 90 10, TT 1 10 23456789, TV 688 5-7, TW 886 8-9, TZ 255 9, UA 380 9, UG 256 9, UK 44 9-10
    US 1 10 23456789, UY 598 8, UZ 998 9, VA 39 6-11 0123456789, VC 1 10 23456789, VE 58 10
    VG 1 10 23456789, VI 1 10 23456789, VN 84 9-10, VU 678 5-7, WF 681 6, WS 685 5-10, XK 383 8-9
    YE 967 7-9, YT 262 9, ZA 27 5-9, ZM 260 9, ZW 263 8-9
    """
}
