"""Why a file is not read. One exception, one reason each, one sentence that says what to do."""

from enum import StrEnum


class Reason(StrEnum):
    EMPTY = "empty"
    TOO_LARGE = "too_large"
    TOO_MANY_PAGES = "too_many_pages"
    TOO_MUCH_TEXT = "too_much_text"
    PASSWORD = "password"
    SCAN = "scan"
    GARBAGE = "garbage"
    NO_TEXT = "no_text"
    BOMB = "bomb"
    NESTED = "nested"
    ARCHIVE = "archive"
    ENTITIES = "entities"
    OLD_WORD = "old_word"
    IMAGE = "image"
    BINARY = "binary"
    ENCODING = "encoding"
    DAMAGED = "damaged"
    AMBIGUOUS = "ambiguous"
    PORTFOLIO = "portfolio"
    XFA = "xfa"
    SLOW = "slow"
    MEMORY = "memory"
    OUTPUT = "output"


SENTENCES = {
    Reason.EMPTY: "The file is empty. Upload the contract again.",
    Reason.TOO_LARGE: "The file is larger than 20 MiB. Upload a smaller file.",
    Reason.TOO_MANY_PAGES: "The file has more than 500 pages. Upload it in parts.",
    Reason.TOO_MUCH_TEXT: "The file holds more text than can be read. Upload it in parts.",
    Reason.PASSWORD: "The file needs a password. Remove the password and upload it again.",
    Reason.SCAN: "There is no text in this file: it is a scan. Upload a file with a text layer.",
    Reason.GARBAGE: "The text in this file is not readable. Export it again or upload the DOCX.",
    Reason.NO_TEXT: "There is no text in this file. Upload the contract itself.",
    Reason.BOMB: "The file unpacks to far more than its size. Save it again and upload that.",
    Reason.NESTED: "The file contains another archive. Upload the contract itself.",
    Reason.ARCHIVE: "The file is an archive. Unpack it and upload the contract itself.",
    Reason.ENTITIES: "The file declares XML entities. Save it again in Word and upload that.",
    Reason.OLD_WORD: "The file is in the old .doc format. Save it as .docx and upload that.",
    Reason.IMAGE: "The file is an image. Upload a PDF with a text layer, or the DOCX.",
    Reason.BINARY: "The file is not a document. Upload PDF, DOCX, Markdown, HTML or plain text.",
    Reason.ENCODING: "The encoding of the text is not known. Save it as UTF-8 and upload it again.",
    Reason.DAMAGED: "The file is damaged. Save it again and upload that.",
    Reason.AMBIGUOUS: "The file holds the same part twice. Save it again in Word and upload that.",
    Reason.PORTFOLIO: "The PDF holds other files. Upload the contract that is attached to it.",
    Reason.XFA: "The PDF is an XFA form. Print it to PDF and upload that.",
    Reason.SLOW: "Reading the file took too long. Upload it in parts or in another format.",
    Reason.MEMORY: "Reading the file took too much memory. Upload it in another format.",
    Reason.OUTPUT: "The file holds more text than can be read. Upload it in parts.",
}


class Unreadable(Exception):
    def __init__(self, reason: Reason) -> None:
        self.reason = reason
        super().__init__(SENTENCES[reason])
